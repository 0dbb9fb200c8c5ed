"""Continues the training of a model on text, until held-out sentences become no more likely."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.prepare import create_tfrecords
from tta.data.records.training_data import TrainingData
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.training.assembly import make_trainer, write_model
from tta.modeling.training.config import TrainingSettings
from tta.modeling.training.evaluation import Evaluation
from tta.modeling.training.steps import connect
from tta.names import VOCABULARY
from tta.scoring.adaptation.config import AdaptationConfig
from tta.scoring.adaptation.passes import Outcome, Training, train_passes

MIN_HELDOUT = 30  # sentences; fewer would choose the best pass by chance
LONGEST = 128  # tokens; longer sentences are cut

# Chosen on the text of ATIS and of LibriSpeech dev-clean (docs/adaptation.md).
BATCH_TOKENS = 1024
ADAM_BETA_2 = 0.98
WARMUP = 0.05  # fraction of the steps
LOG_NORMALIZER_WEIGHT = 0.05  # of models with a learned normalizer
SAMPLED_PIECES = 3072  # in the softmax of a step, if the vocabulary is at least twice as large


@dataclass(frozen=True)
class TextReport(Outcome[Evaluation]):
    """How a model was adapted to text; `str` gives the lines that tta adapt prints.

    Attributes:
        directory: the adapted model's.
        num_truncated: number of sentences that were cut to `max_length` tokens.
        max_length: of a sentence, begin and end included.
        num_unknown: number of tokens that are words unknown to the vocabulary.
        card: the part of the adapted model's README.md about the text.
    """

    directory: Path
    num_truncated: int
    max_length: int
    num_unknown: int
    card: str

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
        if self.num_unknown:
            lines.append(f"note: {self.num_unknown:,} words are unknown to the vocabulary")
        return "\n".join(lines)


def adapt_to_text(
    config: AdaptationConfig, lm: Any, start: str, work: Path, made: Path
) -> TextReport | None:
    """Continues the training of a model on text, with the objective of the model's type.

    `lm` is a `TextModel` with a vocabulary, `start` its name or directory. `work` is a folder for
    files that are needed meanwhile, `made` that for the result, which has the vocabulary.

    Returns and raises as `adapt`. No model is written if SIGTERM stopped the training.
    """
    data = _prepare(config, lm, work)
    objective = MODEL_TYPES.load(lm.model.config.model_type).objectives[0]
    schedule = config.text_schedule
    trainer: Any = None

    def begin(rate):
        nonlocal trainer
        folder = work / f"rate-{rate:g}"
        trainer = _make_trainer(
            config,
            lm,
            data,
            learning_rate=rate,
            start=start,
            objective=objective,
            output_dir=folder,
        )
        return _begin(trainer, schedule.max_passes)

    outcome = train_passes(begin, _nll, schedule.learning_rate, schedule.max_passes)
    if outcome is None:
        return None
    if not outcome.best_pass:
        raise InputError(
            "held-out nll never improved on its starting value of "
            f"{_nll(outcome.before):.4f} per token; give more text, or a lower --learning_rate"
        )
    report = TextReport(
        **vars(outcome),
        directory=Path(config.output_dir),
        num_truncated=data.info["counts"]["truncated"],
        max_length=data.info["max_seq_length"],
        num_unknown=data.info["counts"]["unknown"],
        card=_card(config, outcome, data.info),
    )
    write_model(trainer, made, report.card)
    return report


def _nll(evaluation):
    return evaluation.values["nll"]


def _prepare(config, lm, work):
    """Writes the text as a data set."""
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
            tokenizer=lm.model.config.tokenizer,
            lower_case=lm.model.config.do_lower_case,
            normalization=lm.model.config.normalization,
            seed=config.seed,
        ),
        lm.tokenizer,
    )
    train, heldout = (info["splits"][name]["sentences"] for name in ("train", "heldout"))
    if heldout < MIN_HELDOUT or not train:
        raise InputError(
            f"at least {MIN_HELDOUT} sentences must be held out and one left to train on, not "
            f"{heldout} and {train}; give more text, or another --heldout_fraction",
            ", ".join(info["sources"]),
        )
    return TrainingData(str(work / "data"), info, lm.tokenizer.vocabulary)


def _make_trainer(config, lm, data, *, learning_rate, start, objective, output_dir):
    """A `Trainer` that starts from the weights of a model."""
    model_config = lm.model.config
    steps = connect()
    batches = data.batches(model_config, BATCH_TOKENS, config.seed, in_memory=steps.in_memory)
    # All passes have as many: batches of a length are full but for the last one.
    steps_per_pass = sum(1 for _ in batches.epoch(0))
    num_train_steps = config.text_schedule.max_passes * steps_per_pass
    is_large = model_config.vocab_size >= 2 * SAMPLED_PIECES
    settings = TrainingSettings(
        num_train_steps=num_train_steps,
        num_warmup_steps=int(WARMUP * num_train_steps),
        train_batch_tokens=BATCH_TOKENS,
        learning_rate=learning_rate,
        adam_beta_2=ADAM_BETA_2,
        num_sampled_pieces=SAMPLED_PIECES if is_large else 0,
        log_normalizer_weight=LOG_NORMALIZER_WEIGHT * model_config.learned_normalizer,
        save_checkpoints_steps=num_train_steps,  # besides those at the end of a pass
        eval_steps=num_train_steps,
        seed=config.seed,
    )
    trainer = make_trainer(
        settings,
        objective,
        model_config,
        batches,
        output_dir=output_dir,
        steps=steps,
        init_checkpoint=start,
    )
    trainer.is_resumable = False  # the folder of the work is removed
    return trainer


def _begin(trainer, max_passes):
    """The `Training` of a trainer."""
    before = trainer.evaluate()
    steps_per_pass = trainer.loop.num_train_steps // max_passes

    def take_pass(number):
        return trainer.last_evaluation if trainer.train(number * steps_per_pass) else None

    return Training({v.path: v for v in trainer.model.weights}, before, take_pass)


def _card(config, outcome, info):
    """The part of the adapted model's README.md about the text."""
    text = "\n".join(f"- {Path(source).name}" for source in info["sources"])
    count = info["splits"]["train"]["sentences"]
    return f"""Trained for {outcome.best_pass} passes over {count:,} sentences with
learning rate {outcome.learning_rate:.2g}, seed {config.seed}.

The text:

{text}

Held-out before: {outcome.before}
Held-out after: {outcome.after}
"""
