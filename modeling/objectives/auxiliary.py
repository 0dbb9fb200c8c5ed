"""Auxiliary losses of the last layer's outputs: decorrelation and contrast."""

from keras import ops

from tta.modeling.kits.types import Tensor

# Cosines lie in [-1, 1]. Divided by this temperature, they allow a confident softmax over a hundred
# sentences. Results with other values are in docs/experiments/training.md.
CONTRAST_TEMPERATURE = 0.1


def decorrelation(vectors: Tensor, weights: Tensor) -> Tensor:
    """Distance of vectors from mean 0, variance 1 and uncorrelated dimensions: [] float32.

    The distance is |C - I|^2 / D: the sum of squares in a row, averaged over the D rows. C is the
    matrix of the second moments of `vectors` [..., D] float, sum(w v v^T) / sum(w). No gradient
    flows through the `weights` [...] float32.
    """
    vectors = ops.reshape(ops.cast(vectors, "float32"), (-1, vectors.shape[-1]))
    weights = ops.reshape(weights, (-1,))
    shares = weights / ops.maximum(ops.sum(weights), 1e-12)
    moments = ops.matmul(ops.transpose(vectors), shares[:, None] * vectors)  # [D, D]
    return ops.sum(ops.square(moments - ops.eye(moments.shape[0]))) / moments.shape[0]


def contrast(vectors: Tensor, weights: Tensor) -> Tensor:
    """Loss of finding the second half of each sentence from its first half, and vice versa.

    The first half has the tokens up to half of the sentence's weight. The vector of a half is the
    weighted mean of its tokens, [B, T, D] float. A half is compared, by cosine divided by
    `CONTRAST_TEMPERATURE`, with the opposite half of every sentence in the batch; its loss is -log
    softmax at its own sentence (InfoNCE; van den Oord et al., 2018, arXiv:1807.03748). Sentences in
    which a half has no weight are left out. No gradient flows through the weights [B, T] float32.

    Returns [] float32, natural log, the mean over all halves; 0 if every sentence is left out.
    """
    vectors = ops.cast(vectors, "float32")
    so_far, of_all = ops.cumsum(weights, axis=1), ops.sum(weights, axis=1, keepdims=True)
    is_first = ops.cast(so_far <= of_all / 2, "float32")  # [B, T]
    halves = [weights * is_first, weights * (1.0 - is_first)]
    takes_part = ops.logical_and(*(ops.sum(half, axis=1) > 0 for half in halves))  # [B]
    # The sum has the same direction as the mean, so it has the same cosines.
    first, second = (_normalized(ops.sum(half[:, :, None] * vectors, axis=1)) for half in halves)
    logits = ops.matmul(first, ops.transpose(second)) / CONTRAST_TEMPERATURE  # [B, B]
    both = ops.logical_and(takes_part[:, None], takes_part[None, :])
    logits = ops.where(both, logits, -1e9)
    losses = (ops.logsumexp(logits, axis=0) + ops.logsumexp(logits, axis=1)) / 2
    losses = ops.where(takes_part, losses - ops.diagonal(logits), 0.0)
    return ops.sum(losses) / ops.maximum(ops.sum(ops.cast(takes_part, "float32")), 1.0)


def _normalized(x):
    """x / |x| over the last axis; 0 at 0. `ops.normalize` has no gradient there on JAX."""
    return x * ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis=-1, keepdims=True), 1e-24))
