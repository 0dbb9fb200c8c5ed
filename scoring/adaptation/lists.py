"""Fine-tunes a model on N-best lists with references, by their expected numbers of word errors.

The weights of the combined scores are tuned for the start model and stay fixed, see
`tta.modeling.objectives.expected_errors`. Lists of some references are held out. They choose the
best pass, and the user tunes the weights of the fine-tuned model on them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tta.data.nbest.files import read_nbest, write_nbest
from tta.data.nbest.lists import NBestList
from tta.data.text.files import shown_path
from tta.errors import InputError, located
from tta.scoring.adaptation.config import AdaptationConfig
from tta.scoring.adaptation.list_training import (
    differ,
    make_examples,
    make_list_trainer,
    num_steps,
)
from tta.scoring.adaptation.passes import Outcome, Training, train_passes
from tta.scoring.adaptation.text import MIN_HELDOUT
from tta.scoring.combining.decision import decide
from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import check_widths, score_texts
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FixedWeights, RerankWeights
from tta.scoring.engines.base import lacks
from tta.scoring.metrics.metric import load_metric
from tta.scoring.metrics.normalization import basic
from tta.scoring.scorers.scorer import unknown_note

HELDOUT_LISTS = "heldout.jsonl"


@dataclass(frozen=True)
class ListSplit:
    """N-best lists with references. No reference is in both parts.

    Attributes:
        path: of the file, as error messages show it.
        train, heldout: the lists, in the order of the file.
    """

    path: str
    train: Sequence[NBestList]
    heldout: Sequence[NBestList]


@dataclass(frozen=True)
class ListEvaluation:
    """How good a model is on lists, with fixed weights of the combined score.

    Attributes:
        expected_errors: the expected number of word errors of a list; the mean over the lists.
        wer: the word error rate of the picks, in percent. The decision is mbr.
    """

    expected_errors: float
    wer: float

    def __str__(self) -> str:
        return f"{self.expected_errors:.4f} expected word errors per list, WER {self.wer:.2f} %"


@dataclass(frozen=True)
class ListReport(Outcome[ListEvaluation]):
    """How a model was fine-tuned on lists; `str` gives the lines that tta adapt prints.

    Attributes:
        directory: the fine-tuned model's.
        card: the part of the model's README.md about the lists.
        notes: about words that the model does not know.
    """

    directory: Path
    card: str
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"held-out lists before: {self.before}\n"
            f"held-out lists after:  {self.after}\n"
            f"{self.directory}: the weights after pass {self.best_pass} of {self.passes} over the "
            f"lists, with learning rate {self.learning_rate:.2g}\n"
            "Tune the weights only on lists that the model has not seen: tta rerank "
            f"--model={self.directory} --dev_nbest_file={self.directory / HELDOUT_LISTS} "
            "--nbest_file=..." + "".join(f"\nnote: {note}" for note in self.notes)
        )


def check_takes_one_pass(lm: Any) -> None:
    """Raises InputError if a model needs a pass for each token of a sentence."""
    if not lm.likelihood.takes_one_pass:
        raise InputError(
            "fine-tuning on lists needs a model that scores a sentence in one pass, a T-TA, a "
            f"cloze or a uniLM; this is a {lm.model.config.model_type}",
            lm.directory,
        )


def read_split(config: AdaptationConfig) -> ListSplit:
    """Reads the N-best lists of a config, and holds out those of some references.

    Copies of a reference that differ only in case or punctuation count as one. The part
    `heldout_fraction` of the different references is held out, at random by `seed`. Raises
    InputError if the file is malformed, has no references, or too few lists.
    """
    assert config.nbest_file is not None
    path = str(shown_path(config.nbest_file))
    nbest = read_nbest(
        config.nbest_file,
        config.format,
        reference_file=config.reference_file,
        score_file=config.score_file,
        beam_size=config.beam_size,
        scores=config.scores,
        score_field=config.score_field,
        text_field=config.text_field,
        keep_non_words=config.keep_non_words or None,
    ).lists
    references = [nbest_list.reference for nbest_list in nbest if nbest_list.reference is not None]
    if len(references) < len(nbest):
        raise InputError("fine-tuning needs references, and the lists have none", path)
    with located(path=path):
        check_widths(nbest)
    keys = [basic(reference) for reference in references]
    distinct = sorted(set(keys))
    number = round(config.list_schedule.heldout_fraction * len(distinct))
    shuffled = np.random.default_rng(config.seed).permutation(len(distinct))
    held = {distinct[i] for i in shuffled[:number]}
    train = [nbest_list for nbest_list, key in zip(nbest, keys, strict=True) if key not in held]
    heldout = [nbest_list for nbest_list, key in zip(nbest, keys, strict=True) if key in held]
    if len(heldout) < MIN_HELDOUT or not train:
        raise InputError(
            f"at least {MIN_HELDOUT} lists must be held out and one left to train on, not "
            f"{len(heldout)} and {len(train)}; give more lists, or another --heldout_fraction",
            path,
        )
    return ListSplit(path, train, heldout)


def fine_tune(
    config: AdaptationConfig, lm: Any, split: ListSplit, work: Path, made: Path
) -> ListReport | None:
    """Trains a model to make hypotheses with few word errors probable.

    The weights, scale and reduction of the combined scores are tuned for the start model on the
    lists of training, with the decision mbr. Each list then has its most probable hypotheses under
    them, and the one with the fewest errors. The scores have the model's own normalizer.

    `lm` is the start, a `TextModel` that scores in one pass. Its weights change. `work` and `made`
    are as in `adapt_to_text`, and `HELDOUT_LISTS` is written to `made`, too.

    Returns and raises as `adapt`. No model is written if SIGTERM stopped the training.
    """
    from tta.modeling.training.assembly import complete_directory

    with located(path=split.path):
        metric = load_metric("wer", normalize=config.normalize)
        train, heldout = (
            Part.build(lists, split.path).compared(metric) for lists in (split.train, split.heldout)
        )
        assert train.statistics is not None  # the lists have references
        errors = zip(train.statistics.errors, train.nbest, strict=True)
        if not any(differ(row[: len(nbest_list.hypotheses)]) for row, nbest_list in errors):
            raise InputError(
                "in no list that is left to train on do the hypotheses have different numbers of "
                "word errors"
            )
        scored = train.scored(score_texts(lm, train.texts)).lists
        features = train.lists.features.keys() & heldout.lists.features.keys()
        fixed = FixedWeights(
            shares=(1.0,), decision="mbr", features=dict.fromkeys(sorted(features))
        )
        weights = tune(scored, train.statistics, fixed)
        if not weights.lm_weight:
            raise InputError(
                "tuning gives the model the weight 0 on the lists, so fine-tuning cannot help; "
                "give more lists, or another --model"
            )
        examples = make_examples(scored, train.statistics, weights)
        outcome = _train(config, lm, examples, heldout, weights=weights, work=work)
    if outcome is None:
        return None
    report = ListReport(
        **vars(outcome),
        directory=Path(config.output_dir),
        card=_card(config, outcome, len(examples)),
        notes=tuple(unknown_note(lm, [*train.texts, *heldout.texts])),
    )

    def calibrate(directory):
        if not lacks(lm.config):
            from tta.scoring.engines.onnxruntime.calibration import NUM_SENTENCES, write_light

            write_light(directory, train.texts[:NUM_SENTENCES])

    complete_directory(lm.model, made, report.card, calibrate)
    write_nbest(made / HELDOUT_LISTS, split.heldout, "jsonl")
    return report


def _evaluate(part: Part, lm: Any, weights: RerankWeights) -> ListEvaluation:
    decision = decide(part.scored(score_texts(lm, part.texts)).lists, weights)
    assert part.statistics is not None
    expected = (decision.posteriors * part.statistics.errors).sum(axis=1).mean()
    return ListEvaluation(float(expected), part.statistics.value(decision.picks))


def _train(config, lm, examples, heldout, weights, work):
    """The `Outcome` of the training, with the weights of the combined score; None if stopped."""
    schedule = config.list_schedule
    variables = {v.path: v for v in lm.model.weights}
    before = _evaluate(heldout, lm, weights)

    def begin(rate):
        steps, folder = num_steps(examples), work / f"lists-{rate:g}"
        num_train_steps = schedule.max_passes * steps
        trainer = make_list_trainer(
            lm,
            examples,
            learning_rate=rate,
            num_train_steps=num_train_steps,
            seed=config.seed,
            output_dir=folder,
        )

        def take_pass(number):
            return _evaluate(heldout, lm, weights) if trainer.train(number * steps) else None

        return Training(variables, before, take_pass)

    outcome = train_passes(
        begin, lambda one: one.expected_errors, schedule.learning_rate, schedule.max_passes
    )
    if outcome is not None and not outcome.best_pass:
        raise InputError(
            "no pass over the lists lowered the expected word errors of the held-out lists, which "
            f"are {before.expected_errors:.4f} per list; give more lists, or a lower "
            "--learning_rate"
        )
    return outcome


def _card(config, outcome, number):
    """The part of the model's README.md about the lists."""
    return (
        f"Fine-tuned on {number:,} N-best lists by their expected word errors, for "
        f"{outcome.best_pass} passes with learning rate {outcome.learning_rate:.2g}, seed "
        f"{config.seed}.\nThe lists in {HELDOUT_LISTS} were held out. Tune the weights on them."
        f"\n\nHeld-out lists before: {outcome.before}\nHeld-out lists after: {outcome.after}\n"
    )
