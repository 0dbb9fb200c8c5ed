"""The vMF normalizer against exact Bessel functions (mpmath) and SciPy."""

import mpmath
import numpy as np
import pytest
import scipy.stats
import tensorflow as tf

from tta.papers.semfit.heads.distances import log_normalizer_drop

pytestmark = pytest.mark.tensorflow

SIZES = (16, 17, 32, 50, 100, 300, 512, 1024)
NORMS = (0.0, 1e-3, 0.1, 1.0, 7.0, 30.0, 150.0, 1e3, 1e4)
# Error of the expansion itself in float64.
ERRORS = {16: 1e-5, 17: 1e-5, 32: 2e-7, 50: 6e-8, 100: 4e-9, 300: 1e-10, 512: 1e-10, 1024: 1e-10}


def exact_drop(norm, size):
    """log C(0) - log C(norm) = log I_v(norm) - v log norm - its limit at 0."""
    mpmath.mp.dps = 40
    if norm == 0:
        return mpmath.mpf(0)
    v, norm = mpmath.mpf(size) / 2 - 1, mpmath.mpf(norm)
    at_zero = -v * mpmath.log(2) - mpmath.loggamma(v + 1)
    return mpmath.log(mpmath.besseli(v, norm)) - v * mpmath.log(norm) - at_zero


def exact_slope(norm, size):
    if norm == 0:
        return 0.0
    v = mpmath.mpf(size) / 2 - 1
    return mpmath.besseli(v + 1, norm) / mpmath.besseli(v, norm)


def drop_and_slope(norms, size, dtype):
    """The function and its derivative by the norm."""
    norms = tf.constant(norms, dtype)
    with tf.GradientTape() as tape:
        tape.watch(norms)
        drop = log_normalizer_drop(norms**2, size)
    return drop.numpy(), tape.gradient(drop, norms).numpy()


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol"), [("float64", 1e-13, 0), ("float32", 1e-6, 1e-6)]
)
@pytest.mark.parametrize("size", SIZES)
def test_it_equals_exact_bessel_functions(size, dtype, rtol, atol):
    expected = np.array([float(exact_drop(norm, size)) for norm in NORMS])
    drop, slope = drop_and_slope(NORMS, size, dtype)
    assert drop.dtype == dtype
    np.testing.assert_allclose(drop, expected, rtol=rtol, atol=ERRORS[size] + atol)
    slopes = [float(exact_slope(norm, size)) for norm in NORMS]
    np.testing.assert_allclose(slope, slopes, atol=ERRORS[size] + atol)


@pytest.mark.parametrize("norm", [5.0, 40.0])
def test_it_makes_scipy_s_density(norm):
    size, rng = 33, np.random.default_rng(0)
    mean, x = rng.normal(size=(2, size))
    mean, x = mean / np.linalg.norm(mean), x / np.linalg.norm(x)
    at_zero = float(mpmath.loggamma(size / 2) - mpmath.log(2) - size / 2 * mpmath.log(mpmath.pi))
    drop = drop_and_slope([norm], size, "float64")[0][0]
    expected = scipy.stats.vonmises_fisher(mean, norm).logpdf(x)
    assert at_zero - drop + norm * mean @ x == pytest.approx(expected, abs=1e-6)


def test_the_gradient_by_the_vector_is_finite_and_zero_at_zero():
    c = tf.zeros((3, 16))
    with tf.GradientTape() as tape:
        tape.watch(c)
        drop = log_normalizer_drop(tf.reduce_sum(c**2, axis=-1), 16)
    np.testing.assert_array_equal(tape.gradient(drop, c), np.zeros((3, 16)))
