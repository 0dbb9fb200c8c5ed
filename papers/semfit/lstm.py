"""An LSTM whose output is projected to a smaller size (LSTMP), as in ELMo.

Sak, Senior and Beaufays, 2014, "Long short-term memory recurrent neural network architectures for
large scale acoustic modeling", section 2. Keras's LSTM has no projection.

B batch, T time steps, N networks side by side, U units, P projection.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import PlainLayer
from tta.papers.semfit.config import projected_lstm


@keras.saving.register_keras_serializable("tta")
class ProjectedLSTM(PlainLayer):
    """N LSTMs that run side by side over N inputs, each with its own weights.

    The gates at a step, i, f, g, o, are rows of x W + h R + b. Then

        c = clip(sigmoid(f) c + sigmoid(i) tanh(g)),  h = norm(clip((sigmoid(o) tanh(c)) P)).

    Both h and c go to the next step. Without projection, clipping and norm, this is Keras's LSTM.
    Running the N networks side by side halves the number of steps of a bidirectional model.

    Args:
        units: U.
        projection: P; None leaves the projection out, so that the output has size U.
        num_networks: N.
        use_layer_norm: whether outputs are normalized after the projection.
        cell_clip: c is kept between minus and plus this number; None does not clip.
        projection_clip: the same for the projected output.

    Call:
        x: [B, T, N, size].

    Returns:
        [B, T, N, P] float32. State c, h and sums of gates are float32 in any precision.
    """

    def __init__(
        self,
        units: int,
        projection: int | None = None,
        num_networks: int = 1,
        use_layer_norm: bool = False,
        cell_clip: float | None = None,
        projection_clip: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.units = units
        self.projection = projection
        self.num_networks = num_networks
        self.use_layer_norm = use_layer_norm
        self.cell_clip = cell_clip
        self.projection_clip = projection_clip

    @property
    def output_size(self) -> int:
        """P, or U without a projection."""
        return self.projection or self.units

    def build(self, input_shape: Shape):
        weights = projected_lstm(
            input_shape[-1],
            self.units,
            self.projection,
            num_networks=self.num_networks,
            use_layer_norm=self.use_layer_norm,
        )
        self.add_weights(weights)

        def each(name):
            return [getattr(self, f"{name}_{i}") for i in range(self.num_networks)]

        self.kernels, self.biases = each("kernel"), each("bias")
        self.recurrent_kernels = each("recurrent_kernel")
        self.projections = [] if self.projection is None else each("projection")
        self.norms = each("norm") if self.use_layer_norm else []
        # Keras's RNN runs the cell; the products of the inputs do not depend on the steps.
        self.rnn = keras.layers.RNN(_Steps(self), return_sequences=True, dtype="float32")

    def call(self, x: Tensor):
        gates = [
            ops.cast(self._product(x[:, :, i], kernel), "float32") + bias
            for i, (kernel, bias) in enumerate(zip(self.kernels, self.biases, strict=True))
        ]
        outputs = self.rnn(ops.concatenate(gates, axis=-1))
        return ops.reshape(outputs, (*ops.shape(x)[:3], self.output_size))

    def _product(self, x, kernel):
        kernel = ops.cast(kernel, self.compute_dtype)
        return ops.matmul(ops.cast(x, self.compute_dtype), kernel)

    def step(self, gates: Tensor, output: Tensor, cell: Tensor) -> tuple[Any, Any]:
        """One step: gates of the inputs [B, N * 4U], outputs [B, N * P], cells [B, N * U] float32.

        Returns the next outputs and cells.
        """
        before = ops.split(output, self.num_networks, axis=-1)
        gates = ops.stack(ops.split(gates, self.num_networks, axis=-1), axis=1)  # [B, N, 4U]
        products = [
            self._product(h, kernel)
            for h, kernel in zip(before, self.recurrent_kernels, strict=True)
        ]
        gates = gates + ops.cast(ops.stack(products, axis=1), "float32")
        i, f, g, o = ops.split(gates, 4, axis=-1)
        cell = ops.reshape(cell, ops.shape(i))
        cell = _clip(ops.sigmoid(f) * cell + ops.sigmoid(i) * ops.tanh(g), self.cell_clip)
        outputs = ops.unstack(ops.sigmoid(o) * ops.tanh(cell), self.num_networks, axis=1)
        if self.projections:
            outputs = [
                _clip(ops.cast(self._product(h, kernel), "float32"), self.projection_clip)
                for h, kernel in zip(outputs, self.projections, strict=True)
            ]
        if self.norms:
            outputs = [norm(h) for norm, h in zip(self.norms, outputs, strict=True)]
        size = self.num_networks * self.units
        return ops.concatenate(outputs, axis=-1), ops.reshape(cell, (-1, size))

    def compute_output_shape(self, input_shape: Shape):
        return (*input_shape[:-1], self.output_size)


def reverse_sentences(x: Tensor, padding_mask: Tensor) -> Any:
    """Reverses the real tokens of each sentence [B, T, ...] and leaves the padding where it is.

    Real tokens, where the `padding_mask` [B, T] is True, come first. Applied twice, it gives x.
    """
    positions = ops.arange(ops.shape(x)[1])[None]  # [1, T]
    lengths = ops.sum(ops.cast(padding_mask, "int32"), axis=1, keepdims=True)
    positions = ops.where(positions < lengths, lengths - 1 - positions, positions)  # [B, T]
    positions = ops.reshape(positions, (*ops.shape(positions), *[1] * (len(x.shape) - 2)))
    return ops.take_along_axis(x, positions, axis=1)


class _Steps(keras.layers.Layer):
    """The cell for Keras's RNN. It has no weights: those of the layer are its own."""

    def __init__(self, layer):
        super().__init__(dtype="float32")
        self._owner = lambda: layer  # hidden from Keras, which would follow a cycle of layers
        sizes = layer.output_size, layer.units
        self.state_size = [layer.num_networks * size for size in sizes]
        self.output_size = self.state_size[0]
        self.built = True

    def call(self, inputs, states):
        output, cell = self._owner().step(inputs, *states)
        return output, [output, cell]


def _clip(x, bound):
    return x if bound is None else ops.clip(x, -bound, bound)
