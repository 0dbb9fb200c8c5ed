"""The loss over a large vocabulary, the most expensive sum of the model, with its gradients.

M tokens, D hidden size, V vocabulary. Products have the dtype of the features. All sums,
exponentials and logarithms are float32.
"""

import itertools
from typing import Any

from keras import ops

from tta.modeling.kits.custom_gradients import upstream_of
from tta.modeling.kits.fused import fused
from tta.modeling.kits.keras import NUM_PARTS, KerasKit, num_parts
from tta.modeling.kits.types import Tensor


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
        features: [M, D] float.
        table: [V, D] float32.
        bias: [V] float32.
        targets: [M] int32.
        weights: [M] float32; no gradient flows through them.
        penalty: weight of the squared log-normalizer, 0 or more.
    """

    def loss(features, table, bias):
        compute_table = ops.cast(table, features.dtype)
        total, of_features, of_table, of_bias = 0.0, [], 0.0, 0.0
        pick = KerasKit().pick
        for part in parts(features, num_parts(table.shape[0])):
            x, target, weight = features[part], targets[part], weights[part]
            logits = ops.matmul(x, ops.transpose(compute_table))
            target_logit = ops.cast(pick(logits, target), "float32") + ops.take(bias, target)
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
            gradient = upstream_of(args, upstream)
            of_features, of_table, of_bias = (gradient * x for x in gradients)
            return ops.cast(of_features, features.dtype), of_table, of_bias

        return value, gradient

    # `ops.copy` turns variables into values. In eager mode, TensorFlow expects the gradients of
    # variables separately.
    return value_of(features, ops.copy(table), ops.copy(bias))


def parts(x: Tensor, count: int = NUM_PARTS) -> list[slice]:
    """`count` slices that cover the rows of x; fewer if there are known to be fewer rows."""
    num_rows = ops.shape(x)[0]
    if isinstance(num_rows, int) and num_rows > 0:
        count = min(count, num_rows)
    bounds = [num_rows * i // count for i in range(count + 1)]
    return [slice(*pair) for pair in itertools.pairwise(bounds)]
