"""Statistics of batches: outputs to standardize, their common component, log-normalizers, frequent
pieces. `steps` computes them; None is one device.
"""

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
from keras import ops

from tta.modeling.kits.types import Tensor
from tta.modeling.layers.token_weights import inner_weights
from tta.modeling.models.base import ConfiguredModel
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.base import Batch
from tta.modeling.training.steps import connect
from tta.modeling.training.steps.base import Steps


def output_statistics(
    model: LanguageModel, batches: Iterable[Batch], max_batches: int, steps: Steps | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of the last layer's outputs over some batches: [D] float64 each.

    The first `max_batches` batches are read. Begin and end tokens are left out.
    """

    def sums(batch):
        outputs = ops.cast(model.encode(batch, training=False)["hidden_states"], "float32")
        weights = inner_weights(batch["padding_mask"])[..., None]
        return (
            ops.sum(weights),
            ops.sum(weights * outputs, (0, 1)),
            ops.sum(weights * outputs**2, (0, 1)),
        )

    count, total, squares = 0.0, np.zeros(1), np.zeros(1)
    for values in _of_batches(model, sums, batches, max_batches, steps):
        n, first, second = (np.asarray(value, np.float64) for value in values)
        count, total, squares = count + n, total + first, squares + second
    mean = total / count
    return mean, np.sqrt(np.maximum(squares / count - mean**2, 1e-12))


def common_sums(model: ConfiguredModel, batch: Batch) -> tuple[Tensor, Tensor, Tensor] | None:
    """What `common_component` needs of a batch; None if the encoder has no `output_norm`.

    The sum of the normalized values of the last LayerNorm, before scale and shift, over the tokens
    without begin and end [D]; the sum of their squared norms []; and the number of tokens [].
    """
    norm: Any = model.encoder.output_norm
    if norm is None:
        return None
    outputs = ops.cast(model.encode(batch, training=False)["hidden_states"], "float32")
    normalized = ops.divide_no_nan(outputs - norm.beta, norm.gamma)
    weights = inner_weights(batch["padding_mask"])[..., None]
    return (
        ops.sum(weights * normalized, (0, 1)),
        ops.sum(weights * normalized**2),
        ops.sum(weights),
    )


def common_component(total: np.ndarray, squares: float, count: float) -> float:
    """The share of vectors that is common to all of them, from 0 to 1.

    It is the squared norm of their mean, divided by the mean of their squared norms. Takes what
    `common_sums` returns, added up over batches.
    """
    return float(np.square(total).sum() / (count * squares))


def mean_log_normalizer(
    model: LanguageModel, batches: Iterable[Batch], max_batches: int, steps: Steps | None = None
) -> float:
    """Mean of log sum exp(logits) over the real tokens of some training batches; natural log."""

    def sums(batch):
        values = ops.logsumexp(model(batch, training=False)["logits"], axis=-1)
        return ops.sum(ops.where(batch["padding_mask"], values, 0.0)), ops.sum(
            batch["padding_mask"]
        )

    pairs = _of_batches(model, sums, batches, max_batches, steps)
    total, count = np.sum([[float(value) for value in pair] for pair in pairs], axis=0)
    return total / count


def _of_batches(model, function, batches, max_batches, steps):
    """Yields the values of a function of some training batches, compiled."""
    steps = steps or connect()
    compiled = steps.compile(model, function, getattr(batches, "element_spec", None))
    yield from map(compiled, itertools.islice(steps.read(batches, "training"), max_batches))


def piece_counts(
    batches: Iterable[Batch], max_batches: int, vocab_size: int, steps: Steps | None = None
) -> np.ndarray:
    """How often each word piece occurs in some training batches, without padding: [V] int64."""
    counts = np.zeros(vocab_size, np.int64)
    read = (steps or connect()).read(batches, "training")
    for batch in itertools.islice(read, max_batches):
        ids = np.asarray(batch["input_ids"])[np.asarray(batch["padding_mask"])]
        counts += np.bincount(ids, minlength=vocab_size)
    return counts
