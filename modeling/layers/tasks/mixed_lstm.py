"""What a task's model reads of a frozen encoder: an LSTM over the mix of its layers."""

from typing import Any

import keras
from keras import ops

from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import PlainLayer
from tta.modeling.layers.tasks.scalar_mix import ScalarMix


@keras.saving.register_keras_serializable("tta")
class MixedLSTM(PlainLayer):
    """`ScalarMix`, dropout, a bidirectional LSTM and dropout; float32 in any precision.

    Args:
        num_layers: L.
        lstm_size: U, units of each direction.
        dropout: dropout of the mix and of the outputs, in [0, 1).

    Call:
        layers: [B, T, L * size], the outputs of all layers side by side.
        padding_mask: [B, T] bool, True at tokens, which come first.

    Returns:
        [B, T, 2U] float32, 0 at padding, which changes nothing at tokens.
    """

    def __init__(self, num_layers: int, lstm_size: int, dropout: float = 0.5, **kwargs: Any):
        kwargs["dtype"] = "float32"
        super().__init__(**kwargs)
        self.num_layers = num_layers
        self.lstm_size = lstm_size
        self.dropout = dropout

    def build(self, layers_shape: Shape, padding_mask_shape: Shape | None = None):
        self.mix = ScalarMix(self.num_layers, name="mix", dtype="float32")
        self.mix.build()
        lstm = keras.layers.LSTM(
            self.lstm_size, return_sequences=True, name="lstm", dtype="float32"
        )
        self.lstm = keras.layers.Bidirectional(lstm, name="lstm", dtype="float32")
        self.lstm.build(self.mix.compute_output_shape(layers_shape))
        self.before = keras.layers.Dropout(self.dropout, dtype="float32", name="before")
        self.after = keras.layers.Dropout(self.dropout, dtype="float32", name="after")

    def call(self, layers: Tensor, padding_mask: Tensor, training: bool | None = None):
        mixed = self.before(self.mix(layers), training=training)
        outputs = self.lstm(mixed, mask=padding_mask, training=training)
        return ops.where(padding_mask[..., None], self.after(outputs, training=training), 0.0)

    def compute_output_shape(self, layers_shape: Shape, padding_mask_shape: Shape | None = None):
        return (*layers_shape[:-1], 2 * self.lstm_size)
