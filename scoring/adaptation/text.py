"""Continues the training of a model on text, until held-out sentences become no more likely."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.prepare import create_tfrecords
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.evaluation import Evaluator
from tta.modeling.training.pretrain import make_trainer, write_model
from tta.names import VOCABULARY
from tta.scoring.adaptation.config import AdaptationConfig

MIN_HELDOUT = 30  # sentences; fewer would choose the best pass by chance
PATIENCE = 2  # passes without improvement, after which training stops
RATES = 4  # learning rates that are tried, each a third of the one before
LONGEST = 128  # tokens; longer sentences are cut

# Chosen on the text of ATIS and of LibriSpeech dev-clean (docs/adaptation.md).
BATCH_TOKENS = 1024
ADAM_BETA_2 = 0.98
WARMUP = 0.05  # fraction of the steps
LOG_NORMALIZER_WEIGHT = 0.05  # of models with a learned normalizer
SAMPLED_PIECES = 3072  # in the softmax of a step, if the vocabulary is at least twice as large


@dataclass(frozen=True)
class TextReport:
    """How a model was adapted to text; `str` gives the lines that tta-adapt prints.

    Attributes:
        directory: the adapted model's.
        learning_rate: the highest one of the training.
        passes: number of passes over the text; the weights after the best one were kept.
        best_pass: its number, from 1 on.
        before, after: held-out `Evaluation` of the model and of the adapted model.
        num_truncated: number of sentences that were cut to `max_length` tokens.
        max_length: of a sentence, begin and end included.
        card: the part of the adapted model's README.md about the text.
    """

    directory: Path
    learning_rate: float
    passes: int
    best_pass: int
    before: Any
    after: Any
    num_truncated: int
    max_length: int
    card: str = ""

    def __str__(self) -> str:
        lines = [
            f"held-out before: {self.before}",
            f"held-out after:  {self.after}",
            f"{self.directory}: the weights after pass {self.best_pass} of {self.passes}, with "
            f"learning rate {self.learning_rate:.2g}",
        ]
        if self.num_truncated:
            lines.append(
                f"note: {self.num_truncated:,} sentences were cut to {self.max_length} tokens"
            )
        return "\n".join(lines)


def adapt_to_text(config: AdaptationConfig, lm: Any, work: Path, made: Path) -> TextReport | None:
    """Continues the training of a model on text, with the objective of the model's type.

    Args:
        config: the text, and how to train.
        lm: a `TextModel` of a model directory, with a vocabulary.
        work: a folder for files that are needed meanwhile.
        made: the folder for the result. It has the vocabulary.

    Returns:
        The report; None if SIGTERM stopped the training. No model is written then.

    Raises:
        InputError: the text is missing, malformed or too short, or no pass made the held-out
            sentences more likely.
    """
    info = _prepare(config, lm, work)
    objective = MODEL_TYPES.load(lm.model.config.model_type).objectives[0]
    result = _train(config, lm, objective, info, work)
    if result is None:
        return None
    trainer, report = result
    report = dataclasses.replace(report, card=_card(config, report, info))
    write_model(trainer, made, report.card)
    return report


def _prepare(config, lm, work):
    """Writes the text as a data set; returns its description."""
    lm.tokenizer.vocabulary.save(work / VOCABULARY)
    info = create_tfrecords(
        LocalCorpusConfig(
            input_file=config.input_file,
            vocab_file=str(work / VOCABULARY),
            output_dir=str(work / "data"),
            num_shards=1,
            max_seq_length=min(LONGEST, lm.window_size + 2),
            heldout_fraction=config.text_schedule.heldout_fraction,
            spoken_fraction=config.spoken_fraction,
            lower_case=lm.model.config.do_lower_case,
            seed=config.seed,
        )
    )
    train, heldout = (info["splits"][name]["sentences"] for name in ("train", "heldout"))
    if heldout < MIN_HELDOUT or not train:
        raise InputError(
            f"at least {MIN_HELDOUT} sentences must be held out and one left to train on, not "
            f"{heldout} and {train}; give more text, or another --heldout_fraction",
            ", ".join(info["sources"]),
        )
    return info


def _train(config, lm, objective, info, work):
    """Trains with lower and lower learning rates, until the first pass is an improvement.

    Returns (the `Trainer`, whose model has the weights of the best pass, a `TextReport`), or
    None if SIGTERM stopped the training.
    """
    schedule = config.text_schedule
    rate = schedule.learning_rate
    for number in range(RATES):
        trainer = _make_trainer(config, rate, lm, objective, info, work, f"run-{number}")
        heldout = trainer.heldout_batches()
        evaluate = Evaluator(trainer.model, trainer.objective, heldout.element_spec)
        before = evaluate(heldout)
        result = _train_passes(trainer, schedule.max_passes, before)
        if result is None:
            return None
        passes, best_pass, after = result
        if best_pass:
            return trainer, TextReport(
                directory=Path(config.output_dir),
                learning_rate=rate,
                passes=passes,
                best_pass=best_pass,
                before=before,
                after=after,
                num_truncated=info["counts"]["truncated"],
                max_length=info["max_seq_length"],
            )
        rate /= 3
    raise InputError(
        "no pass over the text lowered the nll of the held-out sentences, which is "
        f"{before.values['nll']:.4f} per token; give more text, or a lower --learning_rate"
    )


def _make_trainer(config, rate, lm, objective, info, work, name):
    """A `Trainer` that starts from the weights of a model."""
    model_config = lm.model.config
    steps_per_pass = math.ceil(info["splits"]["train"]["tokens"] / BATCH_TOKENS)
    num_train_steps = config.text_schedule.max_passes * steps_per_pass
    is_large = model_config.vocab_size >= 2 * SAMPLED_PIECES
    training = PretrainingConfig(
        input_dir=str(work / "data"),
        config_file="",
        output_dir=str(work / name),
        init_checkpoint=str(lm.directory),
        objective=objective,
        num_train_steps=num_train_steps,
        num_warmup_steps=int(WARMUP * num_train_steps),
        train_batch_tokens=BATCH_TOKENS,
        learning_rate=rate,
        adam_beta_2=ADAM_BETA_2,
        num_sampled_pieces=SAMPLED_PIECES if is_large else 0,
        log_normalizer_weight=LOG_NORMALIZER_WEIGHT * model_config.learned_normalizer,
        save_checkpoints_steps=num_train_steps,  # besides those at the end of a pass
        eval_steps=num_train_steps,
        seed=config.seed,
    )
    return make_trainer(training, model_config, info, lm.tokenizer.vocabulary)


def _train_passes(trainer, max_passes, before):
    """Trains pass by pass; the model gets the weights of the best pass.

    Returns (number of passes, number of the best one, its held-out `Evaluation`), or None if
    SIGTERM stopped the training. If the first pass is no improvement, the best number is 0.
    """
    # The schedule of the learning rate is already made: it is that of all passes.
    config = dataclasses.replace(trainer.config, num_warmup_steps=0)
    steps_per_pass = config.num_train_steps // max_passes
    weights = trainer.model.named_weights()
    best, best_pass, best_weights = before, 0, {}
    for number in range(1, max_passes + 1):
        trainer.config = dataclasses.replace(config, num_train_steps=number * steps_per_pass)
        if not trainer.train():
            return None
        if trainer.last_evaluation.values["nll"] < best.values["nll"]:
            best, best_pass = trainer.last_evaluation, number
            best_weights = {name: weight.numpy() for name, weight in weights.items()}
        elif not best_pass or number - best_pass == PATIENCE:
            break
    for name, value in best_weights.items():
        weights[name].assign(value)
    return number, best_pass, best


def _card(config, report, info):
    """The part of the adapted model's README.md about the text."""
    text = "\n".join(f"- {Path(source).name}" for source in info["sources"])
    count = info["splits"]["train"]["sentences"]
    return f"""Trained for {report.best_pass} passes over {count:,} sentences with
learning rate {report.learning_rate:.2g}, seed {config.seed}.

The text:

{text}

Held-out before: {report.before}
Held-out after: {report.after}
"""
