"""gelu and LayerNorm for training equal NumPy's formulas and TensorFlow's gradients of them."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from tests.modeling import numpy_tta
from tests.modeling.tiny import made_of
from tta.modeling.config.weights import layer_norm
from tta.modeling.kits.custom_gradients import trained_bias, trained_gelu, trained_layer_norm

B, T, D = 2, 7, 5
EPSILON = 1e-12
# Type of the data -> (absolute, relative) tolerance.
TOLERANCES = {"float32": (1e-6, 1e-5), "bfloat16": (1e-2, 1e-2)}


def normal(*shape, seed=0, dtype="float32"):
    return tf.cast(np.random.default_rng(seed).normal(0.0, 2.0, shape), dtype)


def gradients_of(function, arguments, upstream):
    """The value of a function, and the gradients by its arguments for an upstream gradient."""
    with tf.GradientTape() as tape:
        tape.watch(arguments)
        value = function(*arguments)
    return value, tape.gradient(value, arguments, upstream)


def plain_layer_norm(gamma, beta, *terms):
    x = tf.add_n([tf.cast(term, "float64") for term in terms])
    mean = tf.reduce_mean(x, -1, keepdims=True)
    variance = tf.reduce_mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) / tf.sqrt(variance + EPSILON) * gamma + beta


def make_norm():
    norm = made_of({"norm": layer_norm(D)}, EPSILON).norm
    norm.gamma.assign(normal(D, seed=1))
    norm.beta.assign(normal(D, seed=2))
    return norm


def assert_close(found, expected, dtype):
    absolute, relative = TOLERANCES[dtype]
    found, expected = (np.asarray(tf.cast(x, "float64")) for x in (found, expected))
    np.testing.assert_allclose(found, expected, atol=absolute, rtol=relative)


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_gelu_and_its_gradient_equal_numpy(dtype):
    x, upstream = normal(37, D, dtype=dtype), normal(37, D, seed=1, dtype=dtype)
    value, (gradient,) = gradients_of(trained_gelu, [x], upstream)
    assert value.dtype == gradient.dtype == x.dtype
    x64, upstream64 = (np.asarray(tf.cast(a, "float64")) for a in (x, upstream))
    probability = 0.5 * (1.0 + special.erf(x64 / np.sqrt(2)))
    density = np.exp(-0.5 * x64**2) / np.sqrt(2 * np.pi)
    assert_close(value, x64 * probability, dtype)
    assert_close(gradient, upstream64 * (probability + x64 * density), dtype)


def test_gelu_of_large_values():
    x = tf.constant([-1e4, -40.0, 0.0, 40.0, 1e4])
    value, (gradient,) = gradients_of(trained_gelu, [x], tf.ones(5))
    np.testing.assert_allclose(value, [0.0, 0.0, 0.0, 40.0, 1e4], rtol=1e-6, atol=2e-3)
    np.testing.assert_allclose(gradient, [0.0, 0.0, 0.5, 1.0, 1.0], atol=1e-6)


def test_bias_and_its_gradient_equal_the_plain_sum():
    x, bias, upstream = normal(37, D), normal(D, seed=1), normal(37, D, seed=2)
    value, (of_x, of_bias) = gradients_of(trained_bias, [x, bias], upstream)
    np.testing.assert_array_equal(value, x + bias)
    np.testing.assert_array_equal(of_x, upstream)
    np.testing.assert_allclose(of_bias, tf.reduce_sum(upstream, axis=0), rtol=1e-5, atol=1e-5)


def test_layer_norm_equals_numpy():
    norm, terms = make_norm(), [normal(B, T, D, seed=3), normal(B, T, D, seed=4)]
    found = trained_layer_norm(norm, *terms)
    total = np.asarray(terms[0], np.float64) + np.asarray(terms[1])
    expected = numpy_tta.layer_norm(total, np.asarray(norm.gamma), np.asarray(norm.beta))
    assert found.shape == (B, T, D)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("dtypes", [["float32"], ["bfloat16", "float32"]])
def test_layer_norm_s_gradients_equal_those_of_the_plain_formula(dtypes):
    norm, upstream = make_norm(), normal(B, T, D, seed=5)
    terms = [normal(B, T, D, seed=seed, dtype=dtype) for seed, dtype in enumerate(dtypes)]
    variables = [norm.gamma.value, norm.beta.value]
    with tf.GradientTape() as tape:
        tape.watch(terms)
        value = trained_layer_norm(norm, *terms)
    found: Any = tape.gradient(value, [*variables, *terms], [upstream])
    assert value.dtype == tf.float32
    assert [g.dtype for g in found[2:]] == [term.dtype for term in terms]
    doubles = [tf.cast(x, "float64") for x in (*variables, *terms)]
    _, expected = gradients_of(plain_layer_norm, doubles, tf.cast(upstream, "float64"))
    for one, other, dtype in zip(found, expected, ["float32"] * 2 + dtypes, strict=True):
        assert_close(one, other, dtype)


def test_layer_norm_of_a_constant_row_has_finite_gradients():
    norm, x = make_norm(), tf.fill([3, D], 2.0)
    value, (gradient,) = gradients_of(lambda x: trained_layer_norm(norm, x), [x], tf.ones([3, D]))
    np.testing.assert_allclose(value, np.broadcast_to(norm.beta, (3, D)), atol=1e-6)
    assert np.isfinite(gradient).all()


def test_any_number_of_rows_in_a_graph():
    norm = make_norm()

    @tf.function(input_signature=[tf.TensorSpec([None, None, D])])
    def graph(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = trained_gelu(trained_layer_norm(norm, x))
        return value, tape.gradient(value, x)

    for shape in ((1, 1), (2, 7), (0, 3)):
        value, gradient = graph(normal(*shape, D))
        assert value.shape == gradient.shape == (*shape, D)
        assert np.isfinite(value).all()
        assert np.isfinite(gradient).all()
