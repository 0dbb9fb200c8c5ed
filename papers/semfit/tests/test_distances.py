"""SemFit's distances against NumPy, and where their minimum lies (Li et al. 2019, section 3)."""

import mpmath
import numpy as np
import pytest
import tensorflow as tf

from tta.papers.semfit.heads import distances

pytestmark = pytest.mark.tensorflow

SIZE = 17
RNG = np.random.default_rng(0)
C, W = RNG.normal(size=(2, 5, 3, SIZE))
ALL = {"l2": distances.l2, "cosine": distances.cosine, "vmf": distances.vmf}
every = pytest.mark.parametrize("name", ALL)


def twin(name, c, w):
    """The formulas in float64; vMF with Bessel functions of mpmath."""
    c, w = np.asarray(c, np.float64), np.asarray(w, np.float64)
    if name == "l2":
        return ((c - w) ** 2).sum(-1)
    norm, w = np.linalg.norm(c, axis=-1), w / np.linalg.norm(w, axis=-1, keepdims=True)
    if name == "cosine":
        return -(c * w).sum(-1) / norm
    v = SIZE / 2 - 1

    def minus_log_c(k):  # up to the value at 0
        bessel = mpmath.log(mpmath.besseli(v, k)) - v * mpmath.log(k)
        return float(bessel + v * mpmath.log(2) + mpmath.loggamma(v + 1))

    return np.vectorize(minus_log_c)(norm) - 0.1 * (c * w).sum(-1) + 0.02 * norm


@every
def test_it_equals_its_formula(name):
    c, w = C.astype(np.float32), W.astype(np.float32)
    found = ALL[name](c, w)
    assert (found.shape, found.dtype) == ((5, 3), tf.float32)
    np.testing.assert_allclose(found, twin(name, c, w), rtol=1e-5, atol=2e-5)


@every
def test_float16_targets_and_bfloat16_predictions_are_computed_in_float32(name):
    w, c = W.astype(np.float16), tf.cast(C, tf.bfloat16)
    found = ALL[name](c, w)
    assert found.dtype == tf.float32
    rounded = tf.cast(c, tf.float64).numpy()
    np.testing.assert_allclose(found, twin(name, rounded, w), rtol=1e-5, atol=2e-5)


@every
def test_no_gradient_flows_to_the_targets(name):
    c, w = tf.constant(C, tf.float32), tf.constant(W, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch([c, w])
        total = tf.reduce_sum(ALL[name](c, w))
    of_c, of_w = tape.gradient(total, [c, w])
    assert of_w is None
    assert np.abs(of_c).sum() > 0


@every
def test_the_gradient_at_zero_is_finite(name):
    c, w = tf.zeros((2, SIZE)), tf.constant(np.stack([W[0, 0], 0 * W[0, 0]]), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(c)
        distance = ALL[name](c, w)
    assert np.isfinite(distance).all()
    assert np.isfinite(tape.gradient(distance, c)).all()
    if name != "l2":
        np.testing.assert_allclose(distance, 0.0, atol=1e-6)


def test_vmf_s_lambdas_weigh_similarity_and_length():
    c, w = C.astype(np.float32), W.astype(np.float32)
    plain = distances.vmf(c, w, 0.0, 0.0)
    norm = np.linalg.norm(c, axis=-1)
    np.testing.assert_allclose(distances.vmf(c, w, 3.0, 0.0) - plain, 3 * norm, rtol=1e-4)
    similarity = (c * w).sum(-1) / np.linalg.norm(w, axis=-1)
    np.testing.assert_allclose(distances.vmf(c, w, 0.0, 5.0) - plain, -5 * similarity, atol=1e-4)


def test_unit_vectors():
    found = distances.unit(tf.constant([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.0, 0.0]], atol=1e-6)
