"""Log-probabilities over a large vocabulary: the most expensive sum of the model."""

from keras import ops


def tied_log_probabilities(features, table, bias, targets):
    """log softmax(features table^T + bias) at the targets.

    Products are in the dtype of `features` and `table`; the log-sum-exp is in float32.

    Args:
        features: [M, D] float.
        table: [V, D], the dtype of features.
        bias: [V] float32.
        targets: [M] int32.

    Returns:
        [M] float32, natural log.
    """
    logits = ops.cast(ops.matmul(features, ops.transpose(table)), "float32") + bias
    picked = ops.take_along_axis(logits, targets[:, None], axis=-1)[:, 0]
    return picked - ops.logsumexp(logits, axis=-1)
