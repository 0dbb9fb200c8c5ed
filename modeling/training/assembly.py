"""From settings to a trainer, and from a trainer to a model directory."""

import sys
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from tta.choices import DTYPE_POLICIES
from tta.data.vectors.training_data import TrainingBatches
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.modeling.config.base import ModelConfig
from tta.modeling.formats.growth import grow
from tta.modeling.formats.huggingface import is_padded
from tta.modeling.formats.model_directory import load_model, save_model, vocabulary_path
from tta.modeling.formats.standardization import write_standardization
from tta.modeling.formats.trained_models import find_directory
from tta.modeling.models.language_model import build_model
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.training.config import TrainingSettings
from tta.modeling.training.optimizers import make_optimizer
from tta.modeling.training.statistics import (
    mean_log_normalizer,
    output_statistics,
    piece_counts,
)
from tta.modeling.training.trainer import Trainer
from tta.names import STANDARDIZATION

# Batches over which the finished model's outputs are standardized, pieces are counted, and the
# log-normalizer of the initial model is averaged.
STANDARDIZING_BATCHES = 100
COUNTING_BATCHES = 300
CENTERING_BATCHES = 5


def make_trainer(
    settings: TrainingSettings,
    objective: str,
    model_config: ModelConfig,
    batches: TrainingBatches,
    output_dir: Path,
    strategy: tf.distribute.Strategy,
    init_checkpoint: str | None = None,
) -> Trainer:
    """Builds model, objective and optimizer under a strategy, and a `Trainer` over the batches.

    `objective` is a name in `OBJECTIVES`, and `strategy` comes from `make_strategy`. The model
    starts from the weights of the model `init_checkpoint`, or at random (None). The global random
    seeds are set.

    Raises:
        InputError: settings do not fit the model, or it cannot start from those weights.
    """

    def counts():
        return piece_counts(batches.epoch(0).take(COUNTING_BATCHES), model_config.vocab_size)

    keras.utils.set_random_seed(settings.seed)
    config: Any = model_config
    vocabulary = batches.vocabulary
    with strategy.scope():
        task = OBJECTIVES.load(objective)(vocabulary, settings)
        task.check_model(model_config)
        head = config.head.head_class()
        model = build_model(
            model_config,
            DTYPE_POLICIES[settings.mixed_precision],
            head_options=head.training_options(settings, counts),
        )
        if init_checkpoint:
            _start_from(init_checkpoint, model, vocabulary, settings.seed)
            if settings.log_normalizer_weight:
                # The log-normalizer was free until now. Small steps would take long to move it.
                few = batches.epoch(0).take(CENTERING_BATCHES)
                model.head.shift_log_normalizer(-mean_log_normalizer(model, few))
        optimizer = make_optimizer(settings, settings.mixed_precision)
    return Trainer(
        model,
        optimizer,
        task,
        batches.epoch,
        heldout_batches=batches.heldout,
        output_dir=output_dir,
        loop=settings,
        strategy=strategy,
    )


def _start_from(name, model, vocabulary, seed):
    """Starts from the weights of a trained model, grown and for this vocabulary if needed."""
    directory = Path(find_directory(name))
    theirs = Vocabulary.from_file(vocabulary_path(directory))
    trained = load_model(directory)
    if is_padded(directory, len(theirs), trained.config.vocab_size):
        theirs = theirs.padded(trained.config.vocab_size)
    if trained.config.vocab_size != len(theirs):
        raise InputError(
            f"the vocabulary has {len(theirs)} pieces, the model {trained.config.vocab_size}",
            theirs.path,
        )
    origins = None
    if theirs.sha256 != vocabulary.sha256:
        origins = vocabulary.origins(theirs)
        known = sum(token in theirs for token in vocabulary.tokens)
        print(
            f"{known:,} of the {len(vocabulary):,} pieces are in {theirs.path}; the others start "
            "as means of its pieces",
            file=sys.stderr,
        )
    model.start_from(trained, lambda ours, theirs: grow(ours, theirs, directory, origins, seed))


def write_model(
    trainer: Trainer, directory: Path, card: str, weights_dtype: str = "float32"
) -> None:
    """Standardizes the outputs of a trained model and completes a model directory.

    How they were standardized is recorded in it. The directory has the vocabulary. `card` is the
    text of README.md, `weights_dtype` "float32" or "float16".
    """
    model: Any = trainer.model
    (directory / STANDARDIZATION).unlink(missing_ok=True)  # of the weights that are replaced
    if model.can_standardize_outputs:
        batches = trainer.epoch_batches(0)
        statistics = output_statistics(model, batches, STANDARDIZING_BATCHES)
        with trainer.strategy.scope():
            model.standardize_outputs(*statistics)
        write_standardization(directory, *statistics)
    save_model(model, directory, card, weights_dtype)
