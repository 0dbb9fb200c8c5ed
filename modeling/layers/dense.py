"""BERT's feed-forward layer."""

from typing import Any

import keras

from tta.modeling.config.weights import feed_forward
from tta.modeling.functions import layers
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import PlainLayer


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
        return layers.feed_forward(KerasKit(training), self, x, self.hidden_act)
