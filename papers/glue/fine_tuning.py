"""One run of fine-tuning: a classifier from the weights of a language model.

The recipe is BERT's run_classifier: all weights are trained for a fixed number of passes, with
AdamW and a learning rate that rises and then falls linearly. Runs are the `Trainer`'s, so a stopped
one goes on where it was.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tta.choices import DTYPE_POLICIES
from tta.data.records.features import ModelInputs
from tta.data.records.pipeline import with_inputs, without_autotuning
from tta.modeling.models.language_model import build_model, build_to_load
from tta.modeling.training.config import LoopSettings
from tta.modeling.training.optimizers import BertAdamW, WarmupLinearDecay
from tta.modeling.training.trainer import Trainer
from tta.papers.glue.classify_config import ClassifyConfig
from tta.papers.glue.config import MIX, ClassifierConfig
from tta.papers.glue.data.inputs import shuffled_batches
from tta.papers.glue.examples import Examples
from tta.papers.glue.objective import TARGET, Classification
from tta.scoring.scorers.inference.batches import pad

WIDTH_STEP = 8  # widths of batches are its multiples: XLA compiles functions for each width
SAVE_STEPS = 500

_SPEC = {
    "input_ids": tf.TensorSpec([None, None], tf.int32),
    "padding_mask": tf.TensorSpec([None, None], tf.bool),
    TARGET: tf.TensorSpec([None], tf.float32),
}


def classifier_config(
    start: Any, tokenizer: Any, examples: Examples, settings: ClassifyConfig
) -> Any:
    """The `ClassifierConfig` over the encoder of a start model.

    Without a pooling in the settings, a BERT with segments is read at [CLS], which its training
    knows, an ELMo by its layers, and all others by means over the texts. Of them, only an
    autoencoder with one latent vector trains the output at [CLS], and means serve it better, too
    (docs/autoencoder.md).
    """
    encoder = getattr(start.config, "encoder", start.config)  # a classifier's is used again
    default = "first" if encoder.num_segments > 1 else "mean"
    if encoder.model_type == "elmo":
        default = MIX
    longest = encoder.max_position_embeddings or settings.max_seq_length
    return ClassifierConfig.of(
        encoder,
        labels=examples.labels,
        texts_per_example=examples.texts_per_example,
        max_seq_length=min(settings.max_seq_length, longest),
        pooling=settings.pooling or default,
        separator_id=tokenizer.vocabulary.eos_id,
        lstm_size=settings.lstm_size,
    )


def make_batches(
    rows: Sequence[np.ndarray],
    targets: np.ndarray,
    size: int,
    pad_id: int,
    max_length: int,
    seed: int,
    epoch: int,
) -> Any:
    """The batches of an epoch, a `tf.data.Dataset`; their order depends on (seed, epoch) alone.

    Each example is in one batch. Examples of similar length are together.
    """
    lengths = np.array([len(row) for row in rows])
    chosen = shuffled_batches(lengths, size, np.random.default_rng([seed, epoch]))

    def generate():
        for indices in chosen:
            longest = lengths[indices].max()
            width = min(-(-longest // WIDTH_STEP) * WIDTH_STEP, max_length)
            ids, mask = pad([rows[i] for i in indices], pad_id, width)
            yield {"input_ids": ids, "padding_mask": mask, TARGET: targets[indices]}

    return without_autotuning(tf.data.Dataset.from_generator(generate, output_signature=_SPEC))


def fine_tune(
    config: ClassifyConfig,
    model_config: ClassifierConfig,
    start: Any,
    tokenizer: Any,
    inputs: ModelInputs,
    rows: Sequence[np.ndarray],
    targets: np.ndarray,
    run: tuple[float, int],
    folder: Path,
) -> Any:
    """Fine-tunes a classifier, or goes on with a stopped run; sets the global random seeds.

    Args:
        config, model_config: how to train, and the config of the classifier.
        start: the Keras model whose encoder it starts from.
        tokenizer, inputs: of the model: what it reads besides ids.
        rows, targets: the N training examples: ids, and [N] float32.
        run, folder: the learning rate and the seed, and the folder for the run's checkpoints.

    Returns the Keras model, in float32; None if SIGTERM stopped the run. Raises as `classify`.
    """
    rate, seed = run
    pad_id, length = tokenizer.vocabulary.pad_id, model_config.max_seq_length
    steps_per_epoch = -(-len(rows) // config.train_batch_size)
    num_steps = config.num_train_epochs * steps_per_epoch
    num_warmup = min(int(config.warmup_proportion * num_steps), num_steps - 1)
    keras.utils.set_random_seed(seed % 2**32)
    model = build_model(model_config, DTYPE_POLICIES[config.mixed_precision])
    weights = start.named_weights().items()
    model.assign((name, value) for name, value in weights if name.startswith("encoder/"))
    if not model_config.labels:
        model.head.output_dense.bias.assign(targets.mean(keepdims=True))
    trainer = Trainer(
        model,
        BertAdamW(WarmupLinearDecay(rate, num_warmup, num_steps)),
        Classification(),
        lambda epoch: with_inputs(
            make_batches(
                rows,
                targets,
                size=config.train_batch_size,
                pad_id=pad_id,
                max_length=length,
                seed=seed,
                epoch=epoch,
            ),
            inputs,
        ),
        heldout_batches=None,
        output_dir=folder,
        loop=LoopSettings(num_train_steps=num_steps, save_checkpoints_steps=SAVE_STEPS),
    )
    if not trainer.train():
        return None
    if config.mixed_precision == "float32":
        return model
    tuned = build_to_load(model_config)  # measured as it will be loaded
    tuned.set_weights(model.get_weights())
    return tuned
