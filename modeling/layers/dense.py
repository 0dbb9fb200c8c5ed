"""What every block is made of: dense and normalisation layers as BERT has them, feed-forward."""

import math

import keras
from keras import ops


def dense(units, initializer_range, **kwargs):
    """A dense layer that starts as BERT's: truncated normal kernel, zero bias."""
    return keras.layers.Dense(
        units,
        kernel_initializer=keras.initializers.TruncatedNormal(stddev=initializer_range),
        **kwargs,
    )


def exact_gelu(x):
    """x P(X <= x) for a standard normal X, of any float type.

    In these very operations: after a product of two matrices and a bias, oneDNN computes it along
    with them, in float32, at no cost (docs/performance.md). Anywhere else it is computed in the
    type of x.
    """
    return (0.5 * x) * (1.0 + ops.erf(x * 0.5**0.5))


@ops.custom_gradient
def trained_gelu(x):
    """`exact_gelu` for training, where its gradient is wanted: both computed in float32.

    Keras's own takes twice the time in bfloat16, and so does its gradient (docs/performance.md).
    """
    value = ops.cast(x, "float32")
    probability = 0.5 * (1.0 + ops.erf(value * 0.5**0.5))
    density = ops.exp(-0.5 * value * value) * (2 * math.pi) ** -0.5
    slope = ops.cast(probability + value * density, x.dtype)

    def gradient(*args, upstream=None):
        if upstream is None:
            (upstream,) = args
        return upstream * slope

    return ops.cast(value * probability, x.dtype), gradient


def activation(name, training=False):
    """`config.hidden_act` as a function; "gelu" is the exact one, by the error function."""
    return {
        "gelu": trained_gelu if training else exact_gelu,
        "gelu_tanh": lambda x: ops.gelu(x, approximate=True),
        "relu": ops.relu,
    }[name]


@keras.saving.register_keras_serializable("tta")
class FeedForward(keras.layers.Layer):
    """Two dense layers with an activation between, position by position (paper, equation 3).

    Args:
        intermediate_size: width between the two.
        hidden_act: "gelu", "gelu_tanh" or "relu".
        initializer_range: standard deviation of the kernels at the start.

    Call:
        x: [B, T, D].

    Returns:
        [B, T, D].
    """

    def __init__(self, intermediate_size, hidden_act="gelu", initializer_range=0.02, **kwargs):
        super().__init__(**kwargs)
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range

    def build(self, input_shape):
        size = input_shape[-1]
        self.intermediate_dense = dense(
            self.intermediate_size,
            self.initializer_range,
            name="intermediate",
            dtype=self.dtype_policy,
        )
        self.intermediate_dense.build((None, None, size))
        self.output_dense = dense(
            size, self.initializer_range, name="output", dtype=self.dtype_policy
        )
        self.output_dense.build((None, None, self.intermediate_size))

    def call(self, x, training=None):
        # As rows of one matrix: only so is a product one operation with bias and activation.
        rows = self.intermediate_dense(ops.reshape(x, (-1, x.shape[-1])))
        rows = self.output_dense(activation(self.hidden_act, training)(rows))
        return ops.reshape(rows, ops.shape(x))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return super().get_config() | {
            "intermediate_size": self.intermediate_size,
            "hidden_act": self.hidden_act,
            "initializer_range": self.initializer_range,
        }


@keras.saving.register_keras_serializable("tta")
class AddNorm(keras.layers.Layer):
    """LayerNorm(residual + Dropout(x)): how each sub-layer ends (post-LayerNorm).

    Args:
        dropout: share dropped from x in training.
        epsilon: of the LayerNorm; BERT's 1e-12, not Keras's 1e-3.

    Call:
        x: [B, T, D].
        residual: [B, T, D]; B may be 1 (broadcast).

    Returns:
        [B, T, D].
    """

    def __init__(self, dropout=0.0, epsilon=1e-12, **kwargs):
        super().__init__(**kwargs)
        self.dropout_rate = dropout
        self.epsilon = epsilon

    def build(self, x_shape, residual_shape=None):
        self.dropout = keras.layers.Dropout(self.dropout_rate, dtype=self.dtype_policy)
        self.norm = keras.layers.LayerNormalization(
            epsilon=self.epsilon, name="norm", dtype=self.dtype_policy
        )
        self.norm.build((None, None, x_shape[-1]))

    def call(self, x, residual, training=None):
        return self.norm(residual + self.dropout(x, training=training))

    def compute_output_shape(self, x_shape, residual_shape=None):
        return x_shape

    def get_config(self):
        return super().get_config() | {"dropout": self.dropout_rate, "epsilon": self.epsilon}
