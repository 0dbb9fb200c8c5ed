"""gelu and LayerNorm with custom gradients: each takes one pass over the data, in training.

The gradients are those of the plain formulas. All intermediate values are float32.
"""

import math
from typing import Any

from keras import ops

from tta.modeling.kits.fused import fused
from tta.modeling.kits.types import Tensor


def upstream_of(args: Any, upstream: Any) -> Any:
    """The gradient that Keras gives a custom gradient, whose place depends on the backend."""
    return args[0] if upstream is None else upstream


def _probability(x):
    return 0.5 * (1.0 + ops.erf(x * 0.5**0.5))


@fused
def _gelu(x):
    value = ops.cast(x, "float32")
    return ops.cast(value * _probability(value), x.dtype)


@fused
def _gelu_gradient(x, upstream):
    value = ops.cast(x, "float32")
    density = ops.exp(-0.5 * value * value) * (2 * math.pi) ** -0.5
    slope = _probability(value) + value * density
    return ops.cast(slope * ops.cast(upstream, "float32"), x.dtype)


@ops.custom_gradient
def trained_gelu(x: Tensor) -> Any:
    """`exact_gelu` for training, computed in float32: [..., F] of any float type."""

    def gradient(*args, upstream=None):
        return _gelu_gradient(x, upstream_of(args, upstream))

    return _gelu(x), gradient


def trained_bias(x: Tensor, bias: Tensor) -> Any:
    """x + bias, for training: [M, F], of an x [M, F] and a bias [F].

    The gradient of the bias is a matrix product with ones. TensorFlow's own, a sum over the rows,
    takes several times as long in bfloat16.
    """

    @ops.custom_gradient
    def add(x, bias):
        def gradients(*args, upstream=None):
            gradient = upstream_of(args, upstream)
            ones = ops.ones((1, ops.shape(gradient)[0]), gradient.dtype)
            return gradient, ops.matmul(ones, gradient)[0]

        return ops.add(x, bias), gradients

    return add(x, ops.copy(bias))


def _total(terms):
    return sum(ops.cast(term, "float32") for term in terms)


@fused
def _normalize(gamma, beta, epsilon, *terms):
    x = _total(terms)
    mean = ops.mean(x, axis=-1, keepdims=True)
    centered = x - mean
    scale = ops.rsqrt(ops.mean(ops.square(centered), axis=-1, keepdims=True) + epsilon)
    return centered * scale * gamma + beta, mean, scale


@fused
def _normalize_gradients(upstream, mean, scale, gamma, *terms):
    normal = (_total(terms) - mean) * scale
    of_normal = upstream * gamma
    of_x = scale * (
        of_normal
        - ops.mean(of_normal, axis=-1, keepdims=True)
        - normal * ops.mean(of_normal * normal, axis=-1, keepdims=True)
    )
    of_terms = [ops.cast(of_x, term.dtype) for term in terms]
    return ops.sum(upstream * normal, axis=0), ops.sum(upstream, axis=0), *of_terms


def trained_layer_norm(norm: Any, *terms: Any) -> Any:
    """LayerNorm of a sum, for training: [..., D] float32.

    Args:
        norm: the layer, as `tta.modeling.layers.base.TableLayer` makes it.
        *terms: tensors of one shape, [..., D], of any float type.
    """

    @ops.custom_gradient
    def normalize(gamma, beta, *terms):
        value, mean, scale = _normalize(gamma, beta, norm.epsilon, *terms)

        def gradients(*args, upstream=None):
            gradient = upstream_of(args, upstream)
            return _normalize_gradients(gradient, mean, scale, gamma, *terms)

        return value, gradients

    # `ops.copy` turns variables into values. In eager mode, TensorFlow expects the gradients of
    # variables separately.
    # XLA compiles for each number of rows, of which there are fewer than shapes.
    rows = (ops.reshape(term, (-1, term.shape[-1])) for term in terms)
    value = normalize(ops.copy(norm.gamma), ops.copy(norm.beta), *rows)
    return ops.reshape(value, ops.shape(terms[0]))
