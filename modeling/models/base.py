"""What the Keras models of all families with an encoder share."""

from collections.abc import Callable, Iterable
from typing import Any

import keras
from keras import ops

from tta.modeling.config.base import ModelConfig, config_from
from tta.modeling.kits.types import Tensors
from tta.modeling.layers.base import ReplaceableParts, TableLayer


def with_boolean_mask(inputs: Tensors) -> Tensors:
    """The inputs of a model; numbers 1 and 0 in "padding_mask" are True and False."""
    return {**inputs, "padding_mask": ops.cast(inputs["padding_mask"], "bool")}


class ConfiguredModel(ReplaceableParts, keras.Model):
    """A model with an `encoder`, which is built from a config and serialized with it.

    Args:
        config: the config of a family.
        dtype: "float32", or "mixed_bfloat16" (products in bfloat16; weights, sums in float32).
    """

    encoder: Any

    def __init__(self, config: ModelConfig, dtype: str = "float32", **kwargs: Any):
        super().__init__(dtype=dtype, **kwargs)
        self.config: Any = config

    def encode(
        self, inputs: dict[str, Any], training: bool | None = None, **options: Any
    ) -> dict[str, Any]:
        """The encoder's outputs alone: {"hidden_states": [B, T, D], ...}; `options` are its own."""
        return self.encoder(inputs, training=training, **options)

    @property
    def token_table(self) -> Any:
        """[V, D] the token embeddings, tied to the head's; None if the input has no such table."""
        return self.encoder.token_table

    def compute_output_in_float32(self) -> None:
        """Makes results in mixed_bfloat16 more precise, see the encoder's method of this name."""
        self.encoder.compute_output_in_float32()

    @property
    def can_standardize_outputs(self) -> bool:
        """Whether it has `LanguageModel.standardize_outputs`."""
        return False

    def start_from(self, trained: Any, assign: Callable[[Any, Any], None]) -> None:
        """Takes the weights of a trained model.

        Args:
            trained: a Keras model, of this family unless this one can start from others.
            assign: takes a model and the trained one, and gives the first the second's weights.
        """
        assign(self, trained)

    of = TableLayer.of

    def named_weights(self) -> dict[str, Any]:
        """{"encoder/embeddings/token_table": Variable, ...}: every weight, frozen ones included.

        The kernel of a layer with LoRA is a tensor, the sum with what LoRA has learned. That of a
        layer that Keras has quantized is a tensor, too: the numbers that its integers stand for.
        """
        weights: dict[str, Any] = {v.path: v for v in self.weights}
        for layer in self._flatten_layers():
            if getattr(layer, "quantization_mode", None) == "int8":
                scale, path = weights.pop(layer.kernel_scale.path), layer._kernel.path
                weights[path] = ops.cast(layer._kernel, scale.dtype) / scale
            if getattr(layer, "lora_enabled", False):
                a, b = (weights.pop(v.path) for v in (layer.lora_kernel_a, layer.lora_kernel_b))
                learned = layer.lora_alpha / layer.lora_rank * ops.matmul(a, b)
                weights[layer._kernel.path] = weights[layer._kernel.path] + learned
        return weights

    def assign(self, values: Iterable[tuple[str, Any]]) -> None:
        """Assigns each array to the weight of its name: (name, array) pairs."""
        weights = {v.path: v for v in self.weights}
        for name, value in values:
            weights[name].assign(value)

    def get_config(self):
        return {
            "config": self.config.to_dict(),
            "dtype": self.dtype_policy.name,
            "name": self.name,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config | {"config": config_from(config["config"])})
