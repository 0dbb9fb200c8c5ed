"""Log-probabilities over a large vocabulary, the most expensive sum of the model.

M tokens, D hidden size, V vocabulary. Products have the dtype of the features. All sums,
exponentials and logarithms are float32.
"""

import itertools
from typing import Any

from keras import ops

from tta.modeling.kits.fused import fused
from tta.modeling.kits.types import Tensor

# The logits are computed in this many parts, so that one part is in memory at a time: all logits
# of 4,096 tokens and 16,000 pieces would take 262 MB in float32. This costs no time
# (docs/experiments/performance.md).
NUM_PARTS = 8


def tied_log_probabilities(
    features: Tensor,
    table: Tensor,
    bias: Tensor,
    targets: Tensor,
    dtype: str = "float32",
    output_table: Tensor | None = None,
) -> Any:
    """log softmax(features table^T + bias) at the targets: [M] float32, natural log.

    The logits of the targets are float32. Those of the other pieces, of which only a sum is needed,
    are products in `dtype`: their rounding errors mostly cancel (docs/experiments/performance.md).

    Args:
        features: [M, D] float.
        table: [V, D] float.
        bias: [V] float32.
        targets: [M] int32.
        dtype: type of the products with the whole table.
        output_table: a copy of the table for these products; None uses the table itself.
    """
    target_logits = tied_logits(features, table, bias, targets)
    features = ops.cast(features, dtype)
    table = ops.cast(table if output_table is None else output_table, dtype)
    # The bias has the type of the products, so that TensorFlow fuses the two operations. The sum
    # makes up for its rounding.
    rounded = ops.cast(bias, dtype)
    weights = ops.exp(bias - ops.cast(rounded, "float32"))
    log_normalizers = []
    # The parts divide the vocabulary, not the rows. So each row of the table is read once, and a
    # token takes the same time in a small batch as in a large one.
    for part in parts(table):
        logits = ops.add(ops.matmul(features, ops.transpose(table[part])), rounded[part])
        # Keras rejects `max` over zero rows without `initial`.
        highest = ops.max(logits, axis=-1, keepdims=True, initial=float("-inf"))
        highest = ops.cast(highest, "float32")
        exponentials, weight = ops.exp(ops.cast(logits, "float32") - highest), weights[part]
        if dtype == "float32":
            normalizer = ops.sum(exponentials, axis=-1)
        else:
            normalizer = ops.matmul(exponentials, weight[:, None])[:, 0]
        position = targets - part.start
        is_here = ops.logical_and(position >= 0, position < part.stop - part.start)
        position = ops.where(is_here, position, 0)
        # In the sum, the target has the same logit as in the numerator. So a probability near 1
        # is exact in any dtype, and none is above 1.
        others = normalizer - _pick(exponentials, position) * ops.take(weight, position)
        corrected = ops.maximum(others, 0.0) + ops.exp(target_logits - highest[:, 0])
        normalizer = ops.where(is_here, corrected, normalizer)
        log_normalizers.append(highest[:, 0] + ops.log(normalizer))
    return target_logits - ops.logsumexp(ops.stack(log_normalizers, axis=-1), axis=-1)


def tied_logits(features: Tensor, table: Tensor, bias: Tensor, targets: Tensor) -> Any:
    """features table^T + bias at the targets only: one dot product per token instead of V.

    These are log-probabilities if the log-normalizer, log sum exp over the vocabulary, is 0. The
    `penalty` of `tied_cross_entropy` trains a model to keep it near 0.

    Arguments and result as in `tied_log_probabilities`.
    """
    rows = ops.take(table, targets, axis=0)  # [M, D]
    products = ops.cast(features, "float32") * ops.cast(rows, "float32")
    return ops.sum(products, axis=-1) + ops.take(bias, targets, axis=0)


def tied_cross_entropy(
    features: Tensor,
    table: Tensor,
    bias: Tensor,
    targets: Tensor,
    weights: Tensor,
    penalty: float = 0.0,
) -> Any:
    """-sum(weights * log softmax(features table^T + bias) at the targets): [] float32, natural log.

    A `penalty` adds penalty * sum(weights * log_normalizer^2). This term keeps the log-normalizer
    near 0 (Devlin et al., 2014, "Fast and robust neural network joint models").

    The gradients are computed together with the loss, one part of the rows at a time. So the logits
    are neither stored for the backward pass nor computed twice.

    Args:
        features, bias, targets: as in `tied_log_probabilities`.
        table: [V, D] float32.
        weights: [M] float32; no gradient flows through them.
        penalty: weight of the squared log-normalizer, 0 or more.
    """

    def loss(features, table, bias):
        compute_table = ops.cast(table, features.dtype)
        total, of_features, of_table, of_bias = 0.0, [], 0.0, 0.0
        for part in parts(features):
            x, target, weight = features[part], targets[part], weights[part]
            logits = ops.matmul(x, ops.transpose(compute_table))
            target_logit = ops.cast(_pick(logits, target), "float32") + ops.take(bias, target)
            highest = upper_bound(logits, bias)
            exponentials, normalizer = exponentials_and_sums(logits, bias, highest)
            value, slope = penalized(highest + ops.log(normalizer), target_logit, weight, penalty)
            total += value
            # d loss / d logits = weight * softmax, minus weight * onehot(target) below.
            by_row, of_rows, of_logits = products_of_softmax(
                exponentials, slope / normalizer, x, compute_table
            )
            of_features.append(by_row)
            of_table += of_rows
            of_bias += of_logits
        weight = weights[:, None]
        of_features = ops.concatenate(of_features) - weight * ops.take(table, targets, axis=0)
        of_table = of_table - ops.segment_sum(
            weight * ops.cast(features, "float32"), targets, table.shape[0]
        )
        of_bias = of_bias - ops.segment_sum(weights, targets, table.shape[0])
        return total, of_features, of_table, of_bias

    return with_gradients(loss, features, table, bias)


def upper_bound(logits: Tensor, offset: Tensor):
    """[m] float32, at least the largest of logits [m, n] + offset [n] in each row."""
    # Keras rejects `max` over zero rows without `initial`.
    highest = ops.max(logits, axis=-1, initial=float("-inf"))
    return ops.cast(highest, "float32") + ops.max(offset)


@fused
def exponentials_and_sums(logits: Tensor, offset: Tensor, highest: Tensor):
    """exp(logits + offset - highest): [m, n] of the logits' type, and their float32 sums [m]."""
    values = ops.exp(ops.cast(logits, "float32") + offset - highest[:, None])
    return ops.cast(values, logits.dtype), ops.sum(values, axis=-1)


def products_of_softmax(exponentials: Tensor, scale: Tensor, x: Tensor, rows: Tensor):
    """The gradients of softmax = scale[:, None] * exponentials [m, n] by what logits come from.

    Not the softmax but the smaller factor of each product is scaled. Returns softmax rows, [m, D];
    softmax^T x, [n, D]; and the sums of softmax over m, [n]; all float32.
    """
    of_x = ops.cast(ops.matmul(exponentials, rows), "float32") * scale[:, None]
    scaled = ops.cast(ops.cast(x, "float32") * scale[:, None], x.dtype)
    of_rows = ops.cast(ops.matmul(ops.transpose(exponentials), scaled), "float32")
    return of_x, of_rows, _scaled_sums(exponentials, scale)


@fused
def _scaled_sums(exponentials, scale):
    return ops.sum(ops.cast(exponentials, "float32") * scale[:, None], axis=0)


def penalized(log_normalizer: Tensor, target_logit: Tensor, weight: Tensor, penalty):
    """The weighted loss of M rows, [], and its derivatives by their log-normalizers, [M]."""
    losses, slope = log_normalizer - target_logit, weight
    if penalty:
        losses += penalty * ops.square(log_normalizer)
        slope = weight * (1.0 + 2.0 * penalty * log_normalizer)
    return ops.sum(weight * losses), slope


def with_gradients(function, features: Tensor, table: Tensor, bias: Tensor):
    """Calls a function that returns a value and its gradients; returns the differentiable value."""

    @ops.custom_gradient
    def value_of(features, table, bias):
        value, *gradients = function(features, table, bias)

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            of_features, of_table, of_bias = (upstream * x for x in gradients)
            return ops.cast(of_features, features.dtype), of_table, of_bias

        return value, gradient

    # `ops.copy` turns variables into values. In eager mode, TensorFlow expects the gradients of
    # variables separately.
    return value_of(features, ops.copy(table), ops.copy(bias))


def _pick(logits, targets):
    """logits [m, n] at the targets [m]: [m]. `ops.take_along_axis` would copy the logits."""
    rows, size = ops.shape(logits)
    first = ops.arange(rows, dtype="int64") * ops.cast(size, "int64")
    return ops.take(logits, first + ops.cast(targets, "int64"))


def parts(x: Tensor) -> list[slice]:
    """`NUM_PARTS` slices that cover the rows of x; fewer if there are known to be fewer rows."""
    num_rows = ops.shape(x)[0]
    if isinstance(num_rows, int) and 0 < num_rows < NUM_PARTS:
        return [slice(i, i + 1) for i in range(num_rows)]
    bounds = [num_rows * i // NUM_PARTS for i in range(NUM_PARTS + 1)]
    return [slice(*pair) for pair in itertools.pairwise(bounds)]
