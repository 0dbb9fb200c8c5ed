"""From settings to a trainer, and from a trainer to a model directory."""

import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import keras

from tta.choices import DTYPE_POLICIES
from tta.data.records.training_data import TrainingBatches
from tta.data.vocabulary.load import load_vocabulary, make_tokenizer
from tta.data.vocabulary.word_tokenizer import split_words
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError
from tta.modeling.config.base import ModelConfig
from tta.modeling.formats.huggingface import is_padded
from tta.modeling.formats.initial_weights import start_from
from tta.modeling.formats.model_directory import save_model, vocabulary_path
from tta.modeling.formats.parts import load_named
from tta.modeling.formats.standardization import write_standardization
from tta.modeling.models.language_model import build_model
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.training.config import TrainingSettings
from tta.modeling.training.optimizers import make_optimizer
from tta.modeling.training.statistics import (
    mean_log_normalizer,
    output_statistics,
    piece_counts,
)
from tta.modeling.training.steps.base import Steps
from tta.modeling.training.trainer import Trainer
from tta.names import LIGHT, STANDARDIZATION
from tta.registry import resolve

# Batches over which the finished model's outputs are standardized, pieces are counted, and the
# log-normalizer of the initial model is averaged.
STANDARDIZING_BATCHES = 100
COUNTING_BATCHES = 300
CENTERING_BATCHES = 5
_CALIBRATE = "tta.scoring.engines.onnxruntime.calibration:calibrate_trained"  # not without it


def make_trainer(
    settings: TrainingSettings,
    objective: str,
    model_config: ModelConfig,
    batches: TrainingBatches,
    output_dir: Path,
    steps: Steps,
    init_checkpoint: str | None = None,
    init_parts: Mapping[str, str | None] | None = None,
) -> Trainer:
    """Builds model, objective and optimizer, and a `Trainer` over the batches.

    `objective` is a name in `OBJECTIVES`, and `steps` comes from `connect`. The model starts from
    the weights of the model `init_checkpoint`, or at random (None). `init_parts` are the models
    from which the parts of `config.parts` start, by name. The global random seeds are set. Raises
    InputError if settings do not fit the model, or it cannot start from those weights.
    """

    def counts():
        size = model_config.vocab_size
        return piece_counts(batches.epoch(0), COUNTING_BATCHES, size, steps)

    keras.utils.set_random_seed(settings.seed)
    config: Any = model_config
    vocabulary: Any = batches.vocabulary
    if model_config.vocab_size < len(vocabulary):  # a model of the most frequent words
        vocabulary = vocabulary.first(model_config.vocab_size)
    with steps.scope():
        task = OBJECTIVES.load(objective)(vocabulary, settings)
        task.check_model(model_config)
        head = config.head.head_class()
        model = build_model(
            model_config,
            DTYPE_POLICIES[settings.mixed_precision],
            head_options=head.training_options(settings, counts),
        )
        starts = {part: name for part, name in (init_parts or {}).items() if name is not None}
        if init_checkpoint:
            model.start_from(*_trained(init_checkpoint, vocabulary))
        for part, name in starts.items():
            model.start_part(part, *_trained(name, vocabulary))
        if (init_checkpoint or "decoder" in starts) and settings.log_normalizer_weight:
            # The log-normalizer was free until now. Small steps would take long to move it.
            mean = mean_log_normalizer(model, batches.epoch(0), CENTERING_BATCHES, steps)
            model.head.shift_log_normalizer(-mean)
        optimizer = make_optimizer(settings, settings.mixed_precision)
    return Trainer(
        model,
        optimizer,
        task,
        batches.epoch,
        heldout_batches=batches.heldout,
        output_dir=output_dir,
        loop=settings,
        steps=steps,
    )


def _trained(name, vocabulary):
    """A trained model, and what gives a model its weights, for this vocabulary."""
    directory, trained = load_named(name)
    tokenizer = trained.config.tokenizer
    theirs = load_vocabulary(tokenizer, vocabulary_path(directory))
    if type(theirs) is not type(vocabulary):
        rule = f"the model has a vocabulary of {tokenizer.replace('_', ' ')}, unlike the data set"
        raise InputError(rule, theirs.path)
    size = trained.config.vocab_size
    if isinstance(theirs, WordVocabulary):
        theirs = theirs.first(size)
    elif is_padded(directory, len(theirs), size):
        theirs = theirs.padded(size)
    if size != len(theirs):
        raise InputError(
            f"the vocabulary has {len(theirs)} pieces, the model {size}",
            theirs.path,
        )
    origins = None
    if theirs.sha256 != vocabulary.sha256:
        lower_case, normalization = trained.config.do_lower_case, trained.config.normalization
        reads: Any = make_tokenizer(theirs, lower_case, normalization=normalization)
        origins = vocabulary.origins(theirs, lambda text: split_words(reads.normalize(text)))
        num_known = sum(token in theirs for token in vocabulary.tokens)
        print(
            f"{num_known:,} of the {len(vocabulary):,} pieces are in {theirs.path}; the others "
            "start as means of its pieces",
            file=sys.stderr,
        )
    return trained, lambda ours, theirs: start_from(ours, theirs, directory, origins)


def write_model(
    trainer: Trainer, directory: Path, card: str, weights_dtype: str = "float32"
) -> None:
    """Standardizes the outputs of a trained model and completes a model directory.

    How they were standardized is recorded in it. The model is calibrated for int8. The directory
    has the vocabulary. `card` is the text of README.md, `weights_dtype` "float32" or "float16".
    """
    model: Any = trainer.model
    statistics = None
    if model.can_standardize_outputs:
        batches = trainer.epoch_batches(0)
        statistics = output_statistics(model, batches, STANDARDIZING_BATCHES, trainer.steps)
        with trainer.steps.scope():
            model.standardize_outputs(*statistics)

    def calibrate(directory):
        batches = trainer.steps.read(trainer.epoch_batches(0), "training")
        resolve(_CALIBRATE)(directory, batches)

    complete_directory(
        model, directory, card, calibrate, weights_dtype=weights_dtype, statistics=statistics
    )


def complete_directory(
    model: Any,
    directory: Path,
    card: str,
    calibrate: Callable[[Path], object],
    weights_dtype: str = "float32",
    statistics: tuple[Any, Any] | None = None,
) -> None:
    """Writes trained weights into a folder in place of those that may be there.

    Args:
        model: the Keras model.
        directory: a folder with the vocabulary.
        card, weights_dtype: as in `write_model`.
        calibrate: writes the ranges of the model's inputs for int8, if onnxruntime is installed.
        statistics: how the outputs were standardized; None if they were not.
    """
    for name in STANDARDIZATION, LIGHT:
        (directory / name).unlink(missing_ok=True)  # of the weights that are replaced
    if statistics is not None:
        write_standardization(directory, *statistics)
    save_model(model, directory, card, weights_dtype)
    if find_spec("onnxruntime") is not None:
        calibrate(directory)
