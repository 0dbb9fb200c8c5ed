"""SemFit's distances between predicted vectors and target vectors, for `semfit_distance`.

Li, Chen, Hsieh and Chang, 2019, "Efficient Contextual Representation Learning Without Softmax
Layer", section 3. c is a prediction, w its target. All arithmetic is float32, whatever the types of
c and w; no gradient flows to the targets.

m dimensions.
"""

from typing import Any

from keras import ops

from tta.modeling.kits.types import Tensor

# u_1, u_2, u_3 of the expansion (Abramowitz and Stegun 9.3.9): the polynomial p^k * u(p^2).
_TERMS = (
    ((3, -5), 24),
    ((81, -462, 385), 1152),
    ((30375, -369603, 765765, -425425), 414720),
)


def log_normalizer_drop(squared_norms: Tensor, size: int) -> Any:
    """log C(0) - log C(|c|) for vectors c of m = `size` dimensions, at least 16.

    C is the normalizer of the von Mises-Fisher distribution. For the concentration k, with
    v = m / 2 - 1 and the modified Bessel function I, C(k) = k^v / ((2 pi)^(m/2) I_v(k)). I_v(k)
    underflows for small k: in float64 below k = 1.1 at m = 300. Debye's expansion of I_v for large
    v (Abramowitz and Stegun 9.7.7) has the factor k^v, which cancels here.

    Takes |c|^2, [...] float32. Returns [...] float32, natural log, 0 or more.

    Its derivative by |c| is I_{v+1}(|c|) / I_v(|c|). As a function of |c|^2, it has a finite
    gradient at c = 0. The error of the expansion is below 1e-5 at 16 dimensions and below 1e-9 at
    300, less than float32 rounds.
    """
    v = size / 2 - 1
    ratio = squared_norms / v**2
    s_minus_1 = ratio / (1.0 + ops.sqrt(1.0 + ratio))  # s = sqrt(1 + ratio), without cancellation
    p = 1.0 / (1.0 + s_minus_1)
    series = ops.log(_debye(p, v)) - ops.log(_debye(ops.ones_like(p), v))
    exponent = v * (s_minus_1 - ops.log1p(s_minus_1 / 2))
    return exponent - 0.5 * ops.log1p(s_minus_1) + series


def _debye(p, v):
    """1 + u_1(p) / v + u_2(p) / v^2 + u_3(p) / v^3."""
    total = 1.0
    for k, (coefficients, divisor) in enumerate(_TERMS, start=1):
        polynomial = 0.0
        for coefficient in reversed(coefficients):
            polynomial = polynomial * p**2 + coefficient
        total = total + p**k * polynomial / (divisor * v**k)
    return total


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
