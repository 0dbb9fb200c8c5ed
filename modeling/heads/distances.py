"""SemFit's distances between predicted vectors and target vectors, for `semfit_distance`.

Li, Chen, Hsieh and Chang, 2019, "Efficient Contextual Representation Learning Without Softmax
Layer", section 3. c is a prediction, w its target. All arithmetic is float32, whatever the types of
c and w; no gradient flows to the targets.

m dimensions.
"""

from typing import Any

from keras import ops

from tta.modeling.heads.vmf import log_normalizer_drop
from tta.modeling.kits.types import Tensor

_TINY = 1e-12  # added to a squared length, so that the gradient at c = 0 is finite


def l2(vectors: Tensor, targets: Tensor) -> Any:
    """|c - w|^2: [..., m] each -> [...] float32. The lengths of the targets count."""
    difference = ops.cast(vectors, "float32") - _constant(targets)
    return ops.sum(ops.square(difference), axis=-1)


def cosine(vectors: Tensor, targets: Tensor) -> Any:
    """-cos(c, w), from -1 to 1: [..., m] each -> [...] float32."""
    return -ops.sum(unit(ops.cast(vectors, "float32")) * unit(_constant(targets)), axis=-1)


def vmf(vectors: Tensor, targets: Tensor, lambda_1: float = 0.02, lambda_2: float = 0.1) -> Any:
    """The negative log-likelihood of a von Mises-Fisher distribution (NLLvMF), up to a constant.

    log C(0) - log C(|c|) - lambda_2 c.w / |w| + lambda_1 |c|, where C is the normalizer of the
    distribution with mean direction c / |c| and concentration |c|. It is 0 at c = 0. The paper
    names no lambdas. The defaults are those of the code of Kumar and Tsvetkov, 2019, "Von
    Mises-Fisher Loss for Training Sequence to Sequence Models with Continuous Outputs".

    Args:
        vectors: c, [..., m] float, m at least 16.
        targets: w, [..., m] float.
        lambda_1: weight of the penalty on |c|, 0 or more.
        lambda_2: weight of the similarity, 0 or more.

    Returns:
        [...] float32, in nats.
    """
    vectors = ops.cast(vectors, "float32")
    squares = ops.sum(ops.square(vectors), axis=-1)
    similarity = ops.sum(vectors * unit(_constant(targets)), axis=-1)
    drop = log_normalizer_drop(squares, vectors.shape[-1])
    return drop - lambda_2 * similarity + lambda_1 * ops.sqrt(squares + _TINY)


def unit(vectors: Tensor) -> Any:
    """Vectors [..., m] float32 scaled to length 1; zeros stay zeros."""
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors * ops.rsqrt(squares + _TINY)


def _constant(targets):
    return ops.stop_gradient(ops.cast(targets, "float32"))
