"""Fine-tunes a model on N-best lists with references, by their expected numbers of word errors.

The weights of the combined scores are tuned for the start model and stay fixed, see
`tta.modeling.objectives.expected_errors`. Lists of some references are held out. They choose the
best pass, and the user tunes the weights of the fine-tuned model on them.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from tta.data.nbest.files import read_nbest, write_nbest
from tta.data.nbest.lists import NBestList
from tta.data.text.files import shown_path
from tta.errors import InputError, located
from tta.scoring.adaptation.config import AdaptationConfig
from tta.scoring.adaptation.text import ADAM_BETA_2, MIN_HELDOUT, PATIENCE, RATES
from tta.scoring.combining.decision import decide
from tta.scoring.combining.risk import PairwiseLosses
from tta.scoring.combining.scored_lists import (
    ScoredLists,
    check_widths,
    common_features,
    score_by_rank,
)
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import GivenWeights, RerankWeights
from tta.scoring.metrics.metric import load_metric
from tta.scoring.metrics.normalization import basic
from tta.scoring.scorers.inference.batches import make_batches

HELDOUT_LISTS = "heldout.jsonl"

# As in the experiment of docs/adaptation.md.
NUM_PROBABLE = 6  # hypotheses of each list, and the one with the fewest errors
BATCH_LISTS = 16
WARMUP = 0.25  # of the first pass


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
class ListReport:
    """How a model was fine-tuned on lists; `str` gives the lines that tta-adapt prints.

    Attributes:
        directory: the fine-tuned model's.
        learning_rate: the highest one of the training.
        passes: number of passes over the lists; the weights after the best one were kept.
        best_pass: its number, from 1 on.
        before, after: of the start model and the fine-tuned model, on the held-out lists.
        card: the part of the model's README.md about the lists.
    """

    directory: Path
    learning_rate: float
    passes: int
    best_pass: int
    before: ListEvaluation
    after: ListEvaluation
    card: str

    def __str__(self) -> str:
        return (
            f"held-out lists before: {self.before}\n"
            f"held-out lists after:  {self.after}\n"
            f"{self.directory}: the weights after pass {self.best_pass} of {self.passes} over the "
            f"lists, with learning rate {self.learning_rate:.2g}\n"
            "Tune the weights only on lists that the model has not seen: tta-rerank "
            f"--model={self.directory} --dev_nbest_file={self.directory / HELDOUT_LISTS} "
            "--nbest_file=..."
        )


def check_takes_one_pass(lm: Any) -> None:
    """Raises InputError if a model needs a pass for each token of a sentence."""
    if not lm.likelihood.takes_one_pass:
        raise InputError(
            "fine-tuning on lists needs a model that scores a sentence in one pass, a T-TA or a "
            f"uniLM; this is a {lm.model.config.model_type}",
            lm.directory,
        )


def read_split(config: AdaptationConfig) -> ListSplit:
    """Reads the N-best lists of a config, and holds out those of some references.

    Copies of a reference that differ only in case or punctuation count as one. The part
    `heldout_fraction` of the different references is held out, at random by `seed`.

    Raises:
        InputError: the file is malformed, has no references, or too few lists.
    """
    assert config.nbest_file is not None
    path = str(shown_path(config.nbest_file))
    nbest = read_nbest(config.nbest_file, reference_file=config.reference_file).lists
    references = [one.reference for one in nbest if one.reference is not None]
    if len(references) < len(nbest):
        raise InputError("fine-tuning needs references, and the lists have none", path)
    with located(path=path):
        check_widths(nbest)
    keys = [basic(reference) for reference in references]
    distinct = sorted(set(keys))
    number = round(config.list_schedule.heldout_fraction * len(distinct))
    shuffled = np.random.default_rng(config.seed).permutation(len(distinct))
    held = {distinct[i] for i in shuffled[:number]}
    train = [one for one, key in zip(nbest, keys, strict=True) if key not in held]
    heldout = [one for one, key in zip(nbest, keys, strict=True) if key in held]
    if len(heldout) < MIN_HELDOUT or not train:
        raise InputError(
            f"at least {MIN_HELDOUT} lists must be held out and one left to train on, not "
            f"{len(heldout)} and {len(train)}; give more lists, or another --heldout_fraction",
            path,
        )
    return ListSplit(path, train, heldout)


def fine_tune(config: AdaptationConfig, lm: Any, split: ListSplit, made: Path) -> ListReport:
    """Trains a model to make hypotheses with few word errors probable.

    The weights, scale and reduction of the combined scores are tuned for the start model on the
    lists of training, with the decision mbr. Each list then has its most probable hypotheses under
    them, and the one with the fewest errors. The scores have the model's own normalizer.

    Args:
        config: how to train.
        lm: the start, a `TextModel` that scores in one pass. Its weights change.
        split: the lists.
        made: the folder for the model and for `HELDOUT_LISTS`. It has the vocabulary.

    Raises:
        InputError: the lists are of no use, or no pass lowered the expected errors of the held-out
            lists.
    """
    from tta.modeling.formats.model_directory import save_model

    with located(path=split.path):
        train, heldout = (_Part.build(one, config) for one in (split.train, split.heldout))
        if not any(_differ(errors) for errors in train.errors_of_lists()):
            raise InputError(
                "in no list that is left to train on do the hypotheses have different numbers of "
                "word errors"
            )
        scored = train.score(lm)
        features = common_features(split.train) & common_features(split.heldout)
        given = GivenWeights(
            shares=(1.0,), decision="mbr", features=dict.fromkeys(sorted(features))
        )
        weights = tune(scored, train.statistics, given)
        if not weights.lm_weight:
            raise InputError(
                "tuning gives the model the weight 0 on the lists, so fine-tuning cannot help; "
                "give more lists, or another --model"
            )
        examples = make_examples(scored, train.statistics, weights)
        report = _train(config, lm, examples, heldout, weights)
    save_model(lm.model, made, report.card)
    write_nbest(made / HELDOUT_LISTS, split.heldout, "jsonl")
    return report


@dataclass(frozen=True)
class Example:
    """A list to train on, with H hypotheses.

    Attributes:
        texts: H hypotheses.
        other_scores, errors: [H] float32, as in `ListBatch`.
        token_weights: [H] float32, the weight of each token's score in the combined score.
    """

    texts: Sequence[str]
    other_scores: np.ndarray
    errors: np.ndarray
    token_weights: np.ndarray


def make_examples(
    scored: ScoredLists, statistics: ListStatistics, weights: RerankWeights
) -> list[Example]:
    """The lists to train on: those whose hypotheses have different numbers of word errors.

    Each has its `NUM_PROBABLE` most probable hypotheses. The one with the fewest errors is added if
    it is better than these.
    """
    decision = decide(scored, weights)
    counts = scored.models[0].num_tokens
    # Hypotheses without tokens have the lowest score of their list, which no weight can change.
    part = np.where(counts > 0, weights.lm_weight * decision.lm_scores, 0.0)
    others = weights.scale * (decision.combined - part)
    token_weights = np.full(counts.shape, weights.scale * weights.lm_weight)
    if weights.reduction == "mean":
        token_weights /= np.maximum(counts, 1)
    errors = _errors(statistics)
    examples = []
    for i, one in enumerate(scored.nbest):
        size = len(one.hypotheses)
        if not size:
            continue
        keep = list(np.argsort(-decision.combined[i, :size], kind="stable")[:NUM_PROBABLE])
        best = errors[i, :size].argmin()
        if errors[i, best] < errors[i, keep].min():
            keep.append(best)
        if _differ(errors[i, keep]):
            texts = [one.hypotheses[j].text for j in keep]
            rows = (array[i, keep].astype(np.float32) for array in (others, errors, token_weights))
            examples.append(Example(texts, *rows))
    return examples


@dataclass(frozen=True)
class _Part:
    """Lists with their errors, before a model scores them."""

    nbest: Sequence[NBestList]
    statistics: ListStatistics
    losses: PairwiseLosses

    @classmethod
    def build(cls, nbest, config):
        """Lists without first-pass scores are scored by their order, as in reranking."""
        if all(h.score is None for one in nbest for h in one.hypotheses):
            nbest = [score_by_rank(one) for one in nbest]
        metric = load_metric("wer", normalize=config.normalize)
        statistics = ListStatistics.build(nbest, metric)
        statistics.value(np.zeros(len(nbest), int))  # raises if the references have no words
        return cls(nbest, statistics, PairwiseLosses.build(nbest, metric))

    def errors_of_lists(self):
        """Yields the numbers of errors of the hypotheses of each list: [H] float64."""
        for errors, one in zip(_errors(self.statistics), self.nbest, strict=True):
            yield errors[: len(one.hypotheses)]

    def score(self, lm) -> ScoredLists:
        texts = list(dict.fromkeys(h.text for one in self.nbest for h in one.hypotheses))
        sums, counts = lm.score_with_counts(texts)
        pairs = zip(sums.tolist(), counts.tolist(), strict=True)
        token_scores: Any = dict(zip(texts, pairs, strict=True))
        return ScoredLists.build(self.nbest, token_scores, losses=self.losses)

    def evaluate(self, lm, weights) -> ListEvaluation:
        decision = decide(self.score(lm), weights)
        expected = (decision.posteriors * _errors(self.statistics)).sum(axis=1).mean()
        return ListEvaluation(float(expected), self.statistics.value(decision.picks))


def _errors(statistics):
    """The number of word errors of every hypothesis: [L, N] float64; 0 at padding."""
    return -statistics.metric.goodness(statistics.counts)


def _differ(errors):
    return len(errors) > 0 and np.ptp(errors) > 0


def _train(config, lm, examples, heldout, weights):
    """Trains with lower and lower learning rates, until the first pass is an improvement.

    The model gets the weights of the best pass.
    """
    schedule = config.list_schedule
    variables = lm.model.named_weights()
    start = {name: variable.numpy() for name, variable in variables.items()}
    before, rate = heldout.evaluate(lm, weights), schedule.learning_rate
    for _ in range(RATES):
        best, best_pass, best_weights = before, 0, start
        take_pass = _make_pass(lm, examples, rate, config.seed)
        for number in range(1, schedule.max_passes + 1):
            take_pass(number)
            now = heldout.evaluate(lm, weights)
            if now.expected_errors < best.expected_errors:
                best, best_pass = now, number
                best_weights = {name: variable.numpy() for name, variable in variables.items()}
            elif not best_pass or number - best_pass == PATIENCE:
                break
        for name, value in best_weights.items():
            variables[name].assign(value)
        if best_pass:
            card = (
                f"Fine-tuned on {len(examples):,} N-best lists by their expected word errors, for "
                f"{best_pass} passes with learning rate {rate:.2g}, seed {config.seed}.\nThe lists "
                f"in {HELDOUT_LISTS} were held out. Tune the weights on them.\n\n"
                f"Held-out lists before: {before}\nHeld-out lists after: {best}\n"
            )
            directory = Path(config.output_dir)
            return ListReport(directory, rate, number, best_pass, before, best, card)
        rate /= 3
    raise InputError(
        "no pass over the lists lowered the expected word errors of the held-out lists, which are "
        f"{before.expected_errors:.4f} per list; give more lists, or a lower --learning_rate"
    )


def _make_pass(lm, examples, learning_rate, seed):
    """A function that trains the model for one pass; it takes the number of the pass."""
    import keras
    import tensorflow as tf

    from tta.modeling.objectives.expected_errors import ListBatch, expected_errors_loss

    model, likelihood = lm.model, lm.likelihood
    optimizer: Any = keras.optimizers.Adam(learning_rate, beta_2=ADAM_BETA_2, global_clipnorm=1.0)
    optimizer.build(model.trainable_variables)
    rng = np.random.default_rng(seed)
    lengths = np.array([max(len(text) for text in one.texts) for one in examples])
    num_batches = -(-len(examples) // BATCH_LISTS)
    num_warmup = max(1, int(WARMUP * num_batches))

    def make_batch(chosen):
        shape = len(chosen), NUM_PROBABLE + 1
        others, errors, token_weights = np.zeros((3, *shape), np.float32)
        present = np.zeros(shape, bool)
        for row, one in enumerate(chosen):
            size = len(one.texts)
            others[row, :size], errors[row, :size] = one.other_scores, one.errors
            token_weights[row, :size], present[row, :size] = one.token_weights, True
        texts = [text for one in chosen for text in one.texts]
        (batch,) = make_batches(
            lm.tokenizer, texts, 0, {"text"}, lm.window_size, sys.maxsize, refuse_long=False
        )
        places = np.flatnonzero(present)[batch.text_index].astype(np.int32)
        weights = batch.keep * token_weights.ravel()[places][:, None]
        return ListBatch(
            batch.input_ids, batch.padding_mask, weights, places, others, errors, present
        )

    grid, number = tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None], tf.int32)
    ids, flags = (tf.TensorSpec([None, None], dtype) for dtype in (tf.int32, tf.bool))

    @tf.function(
        input_signature=[ListBatch(ids, flags, grid, number, grid, grid, flags)], autograph=False
    )
    def step(batch):
        with tf.GradientTape() as tape:
            loss = expected_errors_loss(model, likelihood, batch)
        variables = model.trainable_variables
        gradients = tape.gradient(
            loss.total,
            [variable.value for variable in variables],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    def take_pass(number):
        # Lists of similar lengths are in one batch. Another one in each pass.
        order = np.argsort(lengths * rng.uniform(1.0, 1.2, len(lengths)))
        batches = [order[i : i + BATCH_LISTS] for i in range(0, len(order), BATCH_LISTS)]
        rng.shuffle(batches)
        progress = tqdm(batches, f"pass {number}", unit=" batches", disable=not sys.stderr.isatty())
        for chosen in progress:
            done = int(optimizer.iterations.numpy()) + 1
            optimizer.learning_rate.assign(learning_rate * min(1.0, done / num_warmup))
            step(make_batch([examples[i] for i in chosen]))

    return take_pass
