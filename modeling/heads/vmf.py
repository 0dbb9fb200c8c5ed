"""The normalizer of the von Mises-Fisher distribution in high dimensions.

For m dimensions and the concentration k, with v = m / 2 - 1 and the modified Bessel function I,

    C(k) = k^v / ((2 pi)^(m/2) I_v(k)).

I_v(k) underflows for small k: in float64 below k = 1.1 at m = 300. Debye's expansion of I_v for
large v (Abramowitz and Stegun 9.7.7) has the factor k^v, which cancels here.
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
