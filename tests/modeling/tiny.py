"""Models small enough for a test. Sizes are distinct primes, so that swapped axes fail."""

import numpy as np
import tensorflow as tf

from tta.modeling.config.base import config_from
from tta.modeling.layers.base import TableLayer
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.training.config import PretrainingConfig

VOCAB_SIZE = 23
MASK_ID = 4


class Vocabulary:
    """What objectives and likelihoods ask of a vocabulary."""

    mask_id = MASK_ID

    def __len__(self):
        return VOCAB_SIZE


def made_of(table, layer_norm_eps=1e-12):
    """A layer whose only purpose is its weights, those of a table."""
    layer = TableLayer()
    layer.add_weights(table, layer_norm_eps)
    return layer


def tiny_config(**changes):
    """3 heads of 5, 17 between, 19 positions, no dropout; `model_type` chooses the class."""
    values = {
        "vocab_size": VOCAB_SIZE,
        "hidden_size": 15,
        "num_hidden_layers": 2,
        "num_attention_heads": 3,
        "intermediate_size": 17,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": 19,
    }
    return config_from(values | changes)


def randomize(weights, seed=0):
    """Random values in place of zero biases and unit scales, which would hide what they do.

    Queries and keys stay small: attention that falls on one key alone hides the others' share
    from bfloat16.

    Args:
        weights: {name: Variable}.
        seed: of the values.
    """
    rng = np.random.default_rng(seed)
    for name, variable in weights.items():
        centre = 1.0 if name.endswith("gamma") else 0.0
        scale = 0.15 if "query" in name or "key" in name else 0.4
        variable.assign(rng.normal(centre, scale, variable.shape).astype(np.float32))


def tiny_model(dtype="float32", seed=0, **changes):
    """A `LanguageModel` of `tiny_config` with random weights."""
    model = LanguageModel(tiny_config(**changes), dtype=dtype)
    randomize(model.named_weights(), seed)
    return model


def training_config(**changes):
    """A `PretrainingConfig` whose files nobody reads; 23 steps, little logged."""
    values = {"input_dir": "", "config_file": "", "output_dir": ""}
    values |= {"num_train_steps": 23, "num_warmup_steps": 0, "eval_steps": 10**9}
    return PretrainingConfig(**values | changes)


def dataset(batches):
    """A `tf.data.Dataset` of the batches that `batch` makes."""
    spec = {
        "input_ids": tf.TensorSpec([None, None], tf.int32),
        "padding_mask": tf.TensorSpec([None, None], tf.bool),
    }
    return tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec)


def arrays(model):
    """{name: float64 array} of a model's weights."""
    return {name: np.asarray(v, np.float64) for name, v in model.named_weights().items()}


def batch(lengths, width=None, seed=0, vocab_size=VOCAB_SIZE):
    """Random sentences of these lengths, padded to `width` with random ids (they must not matter).

    Returns:
        {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}.
    """
    width = max(lengths) if width is None else width
    ids = np.random.default_rng(seed).integers(0, vocab_size, (len(lengths), width))
    mask = np.arange(width) < np.array(lengths)[:, None]
    return {"input_ids": ids.astype(np.int32), "padding_mask": mask}


def as_arrays(inputs):
    """(input_ids, padding_mask) as arrays."""
    return np.array(inputs["input_ids"]), np.array(inputs["padding_mask"])


def of_core(registry):
    """The names that no package, papers/ included, brings to a registry."""
    return {name for name in registry if name not in registry._packages}
