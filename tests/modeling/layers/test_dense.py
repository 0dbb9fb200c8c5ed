"""Feed-forward, the end of a sub-layer and the initial dense layer equal NumPy's."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling import numpy_tta
from tests.modeling.tiny import made_of, randomize
from tta.modeling.config import weights
from tta.modeling.functions.layers import add_norm, feed_forward
from tta.modeling.kits.keras import KerasKit, centred_layer_norm

pytestmark = pytest.mark.tensorflow

B, T, D, F = 2, 7, 5, 11
X = np.random.default_rng(0).normal(0.0, 1.0, (B, T, D)).astype(np.float32)


def weights_of(layer):
    return {"/".join(v.path.split("/")[-2:]): np.asarray(v, np.float64) for v in layer.weights}


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("gelu", numpy_tta.gelu),
        ("gelu_tanh", lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2),
        ("relu", lambda x: np.maximum(x, 0.0)),
    ],
)
def test_feed_forward_equals_its_equation(name, function):
    layer = made_of(weights.feed_forward(D, F, 0.02))
    randomize({v.path: v for v in layer.weights})
    expected = numpy_tta.feed_forward(X.astype(np.float64), weights_of(layer), function)
    np.testing.assert_allclose(
        np.asarray(feed_forward(KerasKit(), layer, X, name)), expected, atol=1e-5
    )


@pytest.mark.parametrize("training", [False, True])
def test_gelu_and_its_derivative_are_exact(training):
    # The tanh approximation is off by up to 5e-4.
    x = tf.constant(np.linspace(-4.0, 4.0, 101), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        value = KerasKit(training).activation(x, "gelu")
    np.testing.assert_allclose(value, numpy_tta.gelu(x.numpy()), atol=1e-6)
    exact = x.numpy().astype(np.float64)
    slope = (numpy_tta.gelu(exact + 1e-5) - numpy_tta.gelu(exact - 1e-5)) / 2e-5
    np.testing.assert_allclose(tape.gradient(value, x), slope, atol=1e-5)


@pytest.mark.parametrize("residual_batch", [B, 1], ids=["one per sentence", "shared"])
def test_add_norm_normalises_the_sum(residual_batch):
    layer = made_of(weights.add_norm(D, 0.0))
    randomize({v.path: v for v in layer.weights})
    residual = X[:residual_batch] + 0.5
    norm = [weights_of(layer)[f"norm/{name}"] for name in ("gamma", "beta")]
    expected = numpy_tta.layer_norm((X + residual).astype(np.float64), *norm)
    found = add_norm(KerasKit(), layer, X, residual)
    np.testing.assert_allclose(np.asarray(found), expected, atol=1e-5)


def test_layer_norm_epsilon_is_bert_s():
    # With Keras's 1e-3, a row of variance 1e-4 would be scaled to a third.
    layer = made_of(weights.add_norm(D, 0.0))
    row = np.asarray(add_norm(KerasKit(), layer, 0.01 * X, np.zeros_like(X)))
    np.testing.assert_allclose(row.std(axis=-1), 1.0, atol=1e-3)


def norm_of(gamma, beta, epsilon=1e-12):
    norm = made_of({"norm": weights.layer_norm(len(gamma))}, epsilon).norm
    norm.set_weights([np.asarray(gamma), np.asarray(beta)])
    return norm


@pytest.mark.parametrize(
    ("gamma", "beta", "epsilon"),
    [
        ([3.0, -2.0, 0.7, 5.0, 1.0], [1.0, 0.3, -0.6, 4.0, 0.0], 1e-12),  # -beta / gamma is usable
        ([3.0, -2.0, 0.7, 5.0, 1.0], [1.0, 0.3, -0.6, 4.0, 0.0], 0.1),
        ([3.0, -2.0, 0.7, 5.0, 0.1], [1.0, 9.0, -0.6, 4.0, 2.0], 1e-12),  # too large for a mean
        ([3.0, 0.0, 0.7, 5.0, 1.0], [1.0, 0.3, -0.6, 4.0, 0.0], 1e-12),
        ([3.0, 0.0, 0.7, 5.0, 1.0], [1.0, 0.0, -0.6, 4.0, 0.0], 1e-12),  # 0 / 0
    ],
)
def test_the_centred_layer_norm_is_a_layer_norm(gamma, beta, epsilon):
    found = centred_layer_norm(X, norm_of(gamma, beta, epsilon))
    expected = numpy_tta.layer_norm(X.astype(np.float64), gamma, beta, epsilon)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def magnifying_norm():
    """Rows that are nearly the same, and the LayerNorm that standardizes its outputs for them."""
    rng = np.random.default_rng(0)
    x = (rng.normal(0.0, 1.0, 211) + rng.normal(0.0, 0.02, (307, 211))).astype(np.float32)
    normalized = numpy_tta.layer_norm(x.astype(np.float64), 1.0, 0.0)
    gamma = (1 / normalized.std(axis=0)).astype(np.float32)
    return x, normalized, norm_of(gamma, (-gamma * normalized.mean(axis=0)).astype(np.float32))


def test_the_centred_layer_norm_has_no_error_that_all_dimensions_share():
    x, normalized, norm = magnifying_norm()
    gamma, beta = (np.asarray(one, np.float64) for one in (norm.gamma, norm.beta))
    common = gamma * normalized.mean(axis=0)

    def errors(outputs):  # of a row's scale
        error = np.asarray(outputs) - (normalized * gamma + beta)
        return np.abs(error @ common) / common.dot(common)

    assert errors(centred_layer_norm(x, norm)).max() < 1e-8
    assert errors(norm(x)).max() > 3e-8


def test_dropout_applies_to_x_and_not_to_the_residual():
    layer, zeros = made_of(weights.add_norm(D, 0.5)), np.zeros_like(X)

    def made(x, training):
        return np.asarray(add_norm(KerasKit(training), layer, x, X))

    assert not np.array_equal(made(X, True), made(X, False))
    np.testing.assert_allclose(made(zeros, True), made(zeros, False), atol=1e-6)


def test_dense_is_initialized_as_in_bert():
    layer = made_of({"some": weights.dense(307, 301, 0.02)}).some_dense
    kernel = np.asarray(layer.kernel)
    assert np.abs(kernel).max() <= 0.04 + 1e-6  # truncated at two standard deviations
    np.testing.assert_allclose(kernel.std(), 0.0176, atol=3e-4)  # 0.02 after truncation
    np.testing.assert_array_equal(np.asarray(layer.bias), 0.0)
