"""ELMo's learned mix of layers, for a model that uses the layers as features."""

from typing import Any

import keras
from keras import ops

from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import PlainLayer


@keras.saving.register_keras_serializable("tta")
class ScalarMix(PlainLayer):
    """gamma * sum_j s_j x_j with s = softmax(w): one vector per token from those of all layers.

    Peters et al., 2018, "Deep contextualized word representations", equation 1. It begins as the
    plain mean of the layers.

    Args:
        num_layers: L.

    Call:
        layers: [B, T, L * size], the outputs of all layers side by side, as the output "layers"
            of an ELMo encoder.

    Returns:
        [B, T, size] float32.
    """

    def __init__(self, num_layers: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_layers = num_layers

    def build(self, input_shape: Shape | None = None):
        self.weights_of_layers = self.add_weight((self.num_layers,), "zeros", name="layers")
        self.gamma = self.add_weight((1,), "ones", name="gamma")

    def call(self, layers: Tensor):
        weights = ops.cast(self.weights_of_layers, "float32")
        shares = ops.exp(weights - ops.logsumexp(weights))  # Keras warns of a softmax of one layer
        split = ops.split(ops.cast(layers, "float32"), self.num_layers, axis=-1)
        mixed = sum(share * x for share, x in zip(ops.unstack(shares), split, strict=True))
        return ops.cast(self.gamma, "float32") * mixed

    def compute_output_shape(self, input_shape: Shape):
        return (*input_shape[:-1], input_shape[-1] // self.num_layers)
