"""Log-probabilities over a large vocabulary: the most expensive sum of the model.

M tokens, D hidden size, V vocabulary. Products are in the dtype of the features, every sum,
exponential and logarithm in float32.
"""

import itertools

from keras import ops

# The logits are made in this many parts, to hold an eighth of them at a time: a batch of 4,096
# tokens and 16,000 pieces would take 262 MB in float32. It costs no time
# (benchmarks/training_step.py, docs/performance.md).
NUM_PARTS = 8

# Cosines lie within [-1, 1]: divided by it, a softmax over a hundred sentences can be sure. What
# other values gave is in docs/training.md.
CONTRAST_TEMPERATURE = 0.1


def tied_log_probabilities(features, table, bias, targets):
    """log softmax(features table^T + bias) at the targets.

    Args:
        features: [M, D] float.
        table: [V, D] float.
        bias: [V] float32.
        targets: [M] int32.

    Returns:
        [M] float32, natural log.
    """
    table, bias = ops.cast(table, features.dtype), ops.cast(bias, features.dtype)
    target_logit, log_normalizers = 0.0, []
    # Parts of the vocabulary, not of the rows: each row of the table is read once, and few rows
    # are as fast as many.
    for part in parts(table):
        # (The bias in the type of the products: TensorFlow makes one operation of the two.)
        logits = ops.add(ops.matmul(features, ops.transpose(table[part])), bias[part])
        # (An initial value, for Keras refuses the maximum of no rows.)
        highest = ops.max(logits, axis=-1, keepdims=True, initial=float("-inf"))
        highest = ops.cast(highest, "float32")
        normalizer = ops.sum(ops.exp(ops.cast(logits, "float32") - highest), axis=-1)
        log_normalizers.append(highest[:, 0] + ops.log(normalizer))
        place = targets - part.start
        is_here = ops.logical_and(place >= 0, place < part.stop - part.start)
        here = _pick(logits, ops.where(is_here, place, 0))
        target_logit += ops.where(is_here, ops.cast(here, "float32"), 0.0)
    return target_logit - ops.logsumexp(ops.stack(log_normalizers, axis=-1), axis=-1)


def tied_logits(features, table, bias, targets):
    """features table^T + bias at the targets alone: a dot product a token instead of V.

    They are log-probabilities where the log-normalizer, log sum exp over the vocabulary, is 0: a
    model learns to keep it there by `tied_cross_entropy`'s `log_normalizer_weight`.

    Arguments and result as `tied_log_probabilities`.
    """
    rows = ops.take(table, targets, axis=0)  # [M, D]
    products = ops.cast(features, "float32") * ops.cast(rows, "float32")
    return ops.sum(products, axis=-1) + ops.take(bias, targets, axis=0)


def tied_cross_entropy(features, table, bias, targets, weights, log_normalizer_weight=0.0):
    """-sum(weights * log softmax(features table^T + bias) at the targets), made for training.

    With a `log_normalizer_weight`, that times sum(weights * log_normalizer^2) is added, which keeps
    the log-normalizer near 0 (Devlin et al., 2014, "Fast and robust neural network joint models").

    The gradients are computed along with the loss, one part of the rows at a time, so
    that the logits are neither kept for the backward pass nor computed twice.

    Args:
        features: [M, D] float.
        table: [V, D] float32.
        bias: [V] float32.
        targets: [M] int32.
        weights: [M] float32; takes no gradient.
        log_normalizer_weight: float, 0 or more.

    Returns:
        [] float32, natural log.
    """

    @ops.custom_gradient
    def loss(features, table, bias):
        compute_table = ops.cast(table, features.dtype)
        total, of_features, of_table, of_bias = 0.0, [], 0.0, 0.0
        for part in parts(features):
            x, weight = features[part], weights[part]
            logits = _logits(x, compute_table, bias)
            # (An initial value, for Keras refuses the maximum of a part without rows.)
            highest = ops.max(logits, axis=-1, keepdims=True, initial=float("-inf"))
            exponentials = ops.exp(logits - highest)
            normalizer = ops.sum(exponentials, axis=-1, keepdims=True)
            log_normalizer = (highest + ops.log(normalizer))[:, 0]
            loss_of_rows = log_normalizer - _pick(logits, targets[part])
            # d loss / d logits = weight * softmax here; minus weight * onehot(target) below.
            slope = weight
            if log_normalizer_weight:
                loss_of_rows += log_normalizer_weight * ops.square(log_normalizer)
                slope = weight * (1.0 + 2.0 * log_normalizer_weight * log_normalizer)
            total += ops.sum(weight * loss_of_rows)
            softmax = ops.cast(exponentials * (slope[:, None] / normalizer), x.dtype)
            of_features.append(ops.matmul(softmax, compute_table))
            of_table += ops.cast(ops.matmul(ops.transpose(softmax), x), "float32")
            of_bias += ops.sum(ops.cast(softmax, "float32"), axis=0)
        weight = weights[:, None]
        of_features = ops.cast(ops.concatenate(of_features), "float32") - weight * ops.take(
            table, targets, axis=0
        )
        of_table = of_table - ops.segment_sum(
            weight * ops.cast(features, "float32"), targets, table.shape[0]
        )
        of_bias = of_bias - ops.segment_sum(weights, targets, table.shape[0])

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return (
                ops.cast(upstream * of_features, features.dtype),
                upstream * of_table,
                upstream * of_bias,
            )

        return total, gradient

    # Values, not variables: outside a graph, TensorFlow asks for the gradients of those apart.
    return loss(features, ops.copy(table), ops.copy(bias))


def decorrelation(vectors, weights):
    """How far vectors are from mean 0, variance 1 and no correlation between dimensions.

    That is |C - I|^2 / D, the mean over the dimensions of the squares in a row, for the vectors'
    second moments C = sum(w v v^T) / sum(w).

    Args:
        vectors: [..., D] float.
        weights: [...] float32; take no gradient.

    Returns:
        [] float32.
    """
    vectors = ops.reshape(ops.cast(vectors, "float32"), (-1, vectors.shape[-1]))
    weights = ops.reshape(weights, (-1,))
    shares = weights / ops.maximum(ops.sum(weights), 1e-12)
    moments = ops.matmul(ops.transpose(vectors), shares[:, None] * vectors)  # [D, D]
    return ops.sum(ops.square(moments - ops.eye(moments.shape[0]))) / moments.shape[0]


def contrast(vectors, weights):
    """How badly one half of a sentence finds its other half among those of the batch.

    The halves are the tokens up to half of the sentence's weight and those after it; a half's
    vector is the weighted mean. Of each half the loss is -log softmax of its cosine with the
    sentence's other half, over those with the other half of every sentence, all divided by
    `CONTRAST_TEMPERATURE` (InfoNCE; van den Oord et al., 2018, arXiv:1807.03748). Sentences with a
    half without weight take no part.

    Args:
        vectors: [B, T, D] float.
        weights: [B, T] float32; take no gradient.

    Returns:
        [] float32, natural log, the mean over halves; 0 without a sentence that takes part.
    """
    vectors = ops.cast(vectors, "float32")
    so_far, of_all = ops.cumsum(weights, axis=1), ops.sum(weights, axis=1, keepdims=True)
    is_first = ops.cast(so_far <= of_all / 2, "float32")  # [B, T]
    halves = [weights * is_first, weights * (1.0 - is_first)]
    takes_part = ops.logical_and(*(ops.sum(half, axis=1) > 0 for half in halves))  # [B]
    # (A sum has the direction of the mean, and cosines ask for nothing else.)
    first, second = (
        ops.normalize(ops.sum(half[:, :, None] * vectors, axis=1), axis=-1, order=2)
        for half in halves
    )
    logits = ops.matmul(first, ops.transpose(second)) / CONTRAST_TEMPERATURE  # [B, B]
    both = ops.logical_and(takes_part[:, None], takes_part[None, :])
    logits = ops.where(both, logits, -1e9)
    losses = (ops.logsumexp(logits, axis=0) + ops.logsumexp(logits, axis=1)) / 2
    losses = ops.where(takes_part, losses - ops.diagonal(logits), 0.0)
    return ops.sum(losses) / ops.maximum(ops.sum(ops.cast(takes_part, "float32")), 1.0)


def _logits(features, table, bias):
    return ops.cast(ops.matmul(features, ops.transpose(table)), "float32") + bias


def _pick(logits, targets):
    return ops.take_along_axis(logits, targets[:, None], axis=-1)[:, 0]


def parts(x):
    """NUM_PARTS slices that cover the rows of x."""
    num_rows = ops.shape(x)[0]
    bounds = [num_rows * i // NUM_PARTS for i in range(NUM_PARTS + 1)]
    return [slice(*pair) for pair in itertools.pairwise(bounds)]
