"""Creates the weights of a layer from its table, see `tta.modeling.config.weights`."""

from typing import Any

import keras
from keras import ops

from tta.modeling.config.weights import Weight, WeightTable
from tta.modeling.layers.one_pass import trained_bias


class TableLayer(keras.layers.Layer):
    """A layer whose weights are those of a `WeightTable`."""

    def add_weights(self, table: WeightTable, layer_norm_eps: float = 1e-12) -> None:
        """Creates the weights of a table; the layer casts them where it needs to.

        A weight or a LayerNorm becomes the attribute of its name, and a dense layer NAME_dense.
        Other parts of the table are left to their own layers.
        """
        parts = {name: part for name, part in table.items() if not isinstance(part, Weight)}
        for name, part in parts.items():
            if part.keys() == {"kernel", "bias"}:
                layer = dense(part, name=name, dtype=self.dtype_policy)
                setattr(self, f"{name}_dense", layer)
            elif part.keys() == {"gamma", "beta"}:
                setattr(self, name, _layer_norm(part, layer_norm_eps, name))
        for name, weight in table.items():
            if isinstance(weight, Weight):
                start = _initializer(weight.initializer)
                made = self.add_weight(weight.shape, start, name=name, autocast=False)
                setattr(self, name, made)


class _Dense(keras.layers.Dense):
    """A dense layer that multiplies one matrix, whatever the rank of its inputs.

    So TensorFlow fuses the product and the bias. Its product of a tensor with a matrix does not,
    and builds 40 more operations. Training takes one product per gradient, that of the bias
    included.
    """

    def call(self, inputs, training=None):
        rows = inputs if len(inputs.shape) == 2 else ops.reshape(inputs, (-1, inputs.shape[-1]))
        rows = ops.matmul(rows, self.kernel)
        rows = trained_bias(rows, self.bias) if training else ops.add(rows, self.bias)
        if len(inputs.shape) == 2:
            return rows
        return ops.reshape(rows, (*ops.shape(inputs)[:-1], self.units))


def dense(table: WeightTable, **kwargs: Any) -> Any:
    """A built dense layer with the kernel and the bias of a table."""
    inputs, outputs = table["kernel"].shape
    starts = {f"{n}_initializer": _initializer(weight.initializer) for n, weight in table.items()}
    layer = _Dense(outputs, **starts, **kwargs)
    layer.build((None, None, inputs))
    return layer


def _layer_norm(table, epsilon, name):
    """A built LayerNorm: float32, whatever the type of the products."""
    layer = keras.layers.LayerNormalization(epsilon=epsilon, name=name, dtype="float32")
    layer.build((None, None, *table["gamma"].shape))
    return layer


def _initializer(start):
    """The initializer of Keras that a `Weight` names; each has a seed of its own."""
    if not isinstance(start, str):
        return keras.initializers.TruncatedNormal(stddev=start)
    return _unit_forget_bias if start == "unit_forget_bias" else keras.initializers.get(start)


def _unit_forget_bias(shape, dtype=None):
    """Zeros, and ones for the second of the four gates, as in Keras's LSTM."""
    one = ops.ones((shape[0] // 4,), dtype)
    return ops.concatenate([0 * one, one, 0 * one, 0 * one])
