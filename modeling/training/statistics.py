"""Reads batches; statistics of them: outputs to standardize, their common component,
log-normalizers, frequent pieces.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from tta.errors import DamagedDataError
from tta.modeling.layers.masks import inner_weights
from tta.modeling.models.base import ConfiguredModel
from tta.modeling.models.language_model import LanguageModel

Batch: TypeAlias = dict[str, tf.Tensor]


def read_batches(batches: Iterable[Batch], split: str) -> Iterator[Batch]:
    """Yields the batches; TensorFlow's errors about their shards become a `DamagedDataError`."""
    try:
        yield from batches
    except (tf.errors.OpError, UnicodeDecodeError) as error:  # a message with bytes of the shard
        rule = str(getattr(error, "message", error)).splitlines()[0]
        raise DamagedDataError(f"a {split} shard is truncated or damaged: {rule}") from None


def output_statistics(
    model: LanguageModel, batches: tf.data.Dataset, max_batches: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the last layer's outputs over some batches: [D] float64 each.

    The first `max_batches` of a `tf.data.Dataset` are read. Begin and end tokens are left out.
    """

    @tf.function(input_signature=[batches.element_spec], autograph=False)
    def sums(batch):
        outputs = tf.cast(model.encode(batch, training=False)["hidden_states"], tf.float32)
        weights = inner_weights(batch["padding_mask"])[..., None]
        return (
            tf.reduce_sum(weights),
            tf.reduce_sum(weights * outputs, [0, 1]),
            tf.reduce_sum(weights * outputs**2, [0, 1]),
        )

    count, total, squares = 0.0, np.zeros(1), np.zeros(1)
    for batch in itertools.islice(read_batches(batches, "training"), max_batches):
        n, first, second = (np.float64(value) for value in sums(batch))
        count, total, squares = count + n, total + first, squares + second
    mean = total / count
    return mean, np.sqrt(np.maximum(squares / count - mean**2, 1e-12))


def common_sums(
    model: ConfiguredModel, batch: Batch
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor] | None:
    """What `common_component` needs of a batch; None if the encoder has no `output_norm`.

    The sum of the normalized values of the last LayerNorm, before scale and shift, over the tokens
    without begin and end [D]; the sum of their squared norms []; and the number of tokens [].
    """
    norm: Any = model.encoder.output_norm
    if norm is None:
        return None
    outputs = tf.cast(model.encode(batch, training=False)["hidden_states"], tf.float32)
    normalized = tf.math.divide_no_nan(outputs - norm.beta, norm.gamma)
    weights = inner_weights(batch["padding_mask"])[..., None]
    return (
        tf.reduce_sum(weights * normalized, [0, 1]),
        tf.reduce_sum(weights * normalized**2),
        tf.reduce_sum(weights),
    )


def common_component(total: np.ndarray, squares: float, count: float) -> float:
    """The share of vectors that is common to all of them, from 0 to 1.

    It is the squared norm of their mean, divided by the mean of their squared norms. Takes what
    `common_sums` returns, added up over batches.
    """
    return float(np.square(total).sum() / (count * squares))


def mean_log_normalizer(model: LanguageModel, batches: tf.data.Dataset) -> float:
    """Mean of log sum exp(logits) over the real tokens of some training batches; natural log."""
    total, count = 0.0, 0
    for batch in read_batches(batches, "training"):
        logits = model(batch, training=False)["logits"]
        values = tf.boolean_mask(tf.reduce_logsumexp(logits, axis=-1), batch["padding_mask"])
        total, count = total + float(tf.reduce_sum(values)), count + int(tf.size(values))
    return total / count


def piece_counts(batches: tf.data.Dataset, vocab_size: int) -> np.ndarray:
    """How often each word piece occurs in some training batches, without padding: [V] int64."""
    counts = np.zeros(vocab_size, np.int64)
    for batch in read_batches(batches, "training"):
        ids = batch["input_ids"].numpy()[batch["padding_mask"].numpy()]
        counts += np.bincount(ids, minlength=vocab_size)
    return counts
