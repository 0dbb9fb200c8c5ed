"""The parts of every block: BERT's feed-forward and normalisation layers, activations."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tta.modeling.config.weights import feed_forward, layer_norm
from tta.modeling.layers.base import PlainLayer
from tta.modeling.layers.one_pass import trained_gelu, trained_layer_norm
from tta.modeling.layers.types import Shape, Tensor

# `centred_layer_norm` rounds m to multiples of 1 over this number, so that float32 adds up the
# squares of up to 1,024 of them without an error.
CENTRE_STEPS = 128.0


def centred_layer_norm(x: Tensor, norm: Any) -> Any:
    """LayerNorm, more precise where its normalized values are nearly the same for all inputs.

    In an encoder whose outputs were standardized, scale and shift of the last LayerNorm remove the
    mean m of the normalized values: m = -shift / scale. Where m is nearly all that there is of
    them, a relative error of 1e-7 in the standard deviation of a row, magnified by the scale, would
    be most of the error of a score. Here, the difference u of normalized values and m is scaled.
    The values m + u of a row have a mean square of 1. What this sum is off by is the error of the
    standard deviation, by which u is corrected.

    Args:
        x: [..., D] float32.
        norm: a LayerNorm of Keras.

    Returns:
        [..., D] float32. Without rounding, it is norm(x), whatever m is.
    """
    gamma, beta = norm.gamma, norm.beta
    mean = -beta / gamma
    # No mean of normalized values has a mean square of 1 or more.
    mean = ops.where(ops.mean(ops.square(mean)) < 1.0, mean, 0.0)
    mean = ops.round(mean * CENTRE_STEPS) / CENTRE_STEPS
    centred = x - ops.mean(x, axis=-1, keepdims=True)
    scale = ops.rsqrt(ops.mean(ops.square(centred), axis=-1, keepdims=True) + norm.epsilon)
    u = centred * scale - mean
    error = ops.mean(u * (u + 2.0 * mean), axis=-1, keepdims=True)
    error += norm.epsilon * ops.square(scale) - ops.mean(1.0 - ops.square(mean))
    return (u - 0.5 * error * mean) * gamma + (beta + gamma * mean)


def exact_gelu(x: Tensor) -> Any:
    """x P(X <= x) for a standard normal X, of any float type.

    Keep these exact operations. After a matrix product and a bias, oneDNN fuses them with the
    product and computes them in float32 at no extra cost (docs/experiments/performance.md).
    Elsewhere they are computed in the type of x.
    """
    return (0.5 * x) * (1.0 + ops.erf(x * 0.5**0.5))


def activation(name: str, training: bool | None = False) -> Callable[[Any], Any]:
    """The function that `config.hidden_act` names; "gelu" is exact and uses the error function."""
    return {
        "gelu": trained_gelu if training else exact_gelu,
        "gelu_tanh": lambda x: ops.gelu(x, approximate=True),
        "relu": ops.relu,
    }[name]


@keras.saving.register_keras_serializable("tta")
class FeedForward(PlainLayer):
    """Two dense layers with an activation between them, at each position (paper, equation 1).

    Args:
        intermediate_size: width of the first layer.
        hidden_act: "gelu", "gelu_tanh" or "relu".
        initializer_range: standard deviation of the initial kernels.

    Call:
        x: [B, T, D].

    Returns:
        [B, T, D].
    """

    def __init__(
        self,
        intermediate_size: int,
        hidden_act: str = "gelu",
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range

    def build(self, input_shape: Shape):
        sizes = input_shape[-1], self.intermediate_size
        self.add_weights(feed_forward(*sizes, self.initializer_range))

    def call(self, x: Tensor, training: bool | None = None):
        # Product, bias and activation are fused into one operation only for a single matrix.
        rows = self.intermediate_dense(ops.reshape(x, (-1, x.shape[-1])))
        rows = self.output_dense(activation(self.hidden_act, training)(rows))
        return ops.reshape(rows, ops.shape(x))


@keras.saving.register_keras_serializable("tta")
class AddNorm(PlainLayer):
    """LayerNorm(residual + Dropout(x)): the end of each sub-layer (post-LayerNorm).

    With pre-LayerNorm, a sub-layer begins with `normalize` and ends with `add`.

    Sums and outputs are float32 even if products are bfloat16: products cast their own inputs.
    Rounding the sums too would cause most of a score's error (docs/experiments/performance.md).

    Args:
        dropout: fraction of x dropped in training.
        epsilon: epsilon of the LayerNorm; BERT's 1e-12, not Keras's 1e-3.

    Attributes:
        magnifies: whether the LayerNorm may magnify small differences between its inputs, and is
            computed by `centred_layer_norm` outside of training.

    Call:
        x: [B, T, D].
        residual: [B, T, D]; B may be 1 (broadcast).

    Returns:
        [B, T, D] float32.
    """

    def __init__(self, dropout: float = 0.0, epsilon: float = 1e-12, **kwargs: Any):
        super().__init__(**kwargs | {"dtype": "float32", "autocast": False})
        self.dropout = dropout
        self.epsilon = epsilon
        self.magnifies = False

    def build(self, input_shape: Shape):
        self.dropout_layer = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)
        self.add_weights({"norm": layer_norm(input_shape[-1])}, self.epsilon)

    def normalize(self, x: Tensor, training: bool | None = None) -> Any:
        """LayerNorm(x), [..., D] float32."""
        if training:
            return trained_layer_norm(self.norm, x)
        return centred_layer_norm(x, self.norm) if self.magnifies else self.norm(x)

    def add(self, x: Tensor, residual: Tensor, training: bool | None = None) -> Any:
        """residual + Dropout(x), [B, T, D] float32."""
        return residual + ops.cast(self._dropped(x, training), "float32")

    def call(self, x: Tensor, residual: Tensor, training: bool | None = None):
        if not training:
            return self.normalize(self.add(x, residual))
        residual = ops.broadcast_to(residual, ops.shape(x))
        return trained_layer_norm(self.norm, self._dropped(x, training), residual)

    def _dropped(self, x, training):
        return self.dropout_layer(x, training=training) if self.dropout else x
