"""What encoders share: a dict of tensors in, hidden states out; no head, no loss."""

from typing import Any

import keras
from keras import ops

from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.functions.encoders import memory_heads, optional_inputs, step
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Shape, Tensor, Tensors
from tta.modeling.layers.base import ConfiguredLayer

# The shapes of the inputs of an encoder, for `build`, so that a summary has those of its outputs.
TOKENS = {"input_ids": (None, None), "padding_mask": (None, None)}


class Encoder(ConfiguredLayer):
    """The interface of every encoder.

    B batch, T tokens, D hidden size.

    Args:
        config: the model's config.

    Call:
        inputs: dict with "input_ids" [B, T] int32 and "padding_mask" [B, T] bool, True at real
            tokens (numbers 1 and 0 are True and False); and any of `optional_inputs`. Other entries
            are ignored.

    Returns:
        {"hidden_states": [B, T, D], ...}.
    """

    # Outputs besides "hidden_states" and "embedding_output".
    extra_outputs: tuple[str, ...] = ()
    # Whether its call takes `return_attention_scores`.
    gives_attention = False
    # Inputs that change the result. An encoder refuses those that it does not use.
    optional_inputs: tuple[str, ...] = ()

    @property
    def token_table(self) -> Any:
        """[V, D] the token embeddings, which a head can share; None if there is no such table."""
        return None

    @property
    def output_norm(self) -> keras.layers.Layer | None:
        """The last LayerNorm, if a head can undo its scale and shift; else None."""
        return None

    def compute_output_in_float32(self) -> None:
        """Makes the outputs more precise in mixed_bfloat16, if the family needs it."""

    def output_size(self, name: str) -> int:
        """Numbers in a vector of an output, such as "hidden_states"."""
        return self.config.hidden_size

    def check_inputs(self, inputs: dict[str, Any]) -> None:
        """Raises TypeError if an input that should change the result would be ignored."""
        if unread := inputs.keys() - {"input_ids", "padding_mask", *self.optional_inputs}:
            functions = [MODEL_TYPES.load(name).part("encoder") for name in MODEL_TYPES]
            change = {
                name for function in functions if function for name in optional_inputs(function)
            }
            for name in sorted(unread & change - {"wanted"}):  # which only saves time
                raise TypeError(f"an encoder of type {self.config.model_type} takes no {name}")


def encoder_of(config: LanguageModelConfig, **kwargs: Any) -> Any:
    """The encoder of a config's family, a Keras layer; `kwargs` are arguments of every layer."""
    layer = MODEL_TYPES.load(config.model_type).part("layer") or FunctionEncoder
    return layer(config, **kwargs)


@keras.saving.register_keras_serializable("tta")
class FunctionEncoder(Encoder):
    """Owns the weights of an encoder, and calls its function (`tta.modeling.functions.encoders`).

    The function calls the layers of its parts: embeddings, blocks, and what is in them.

    `inputs` may also hold the keywords of the function; its docstring says what they are.
    `return_attention_scores` is whether to return the weights of the keys in each attention, too.

    Returns:
        {"hidden_states": [B, T, D], "embedding_output": [B, T, D]}; with `return_attention_scores`,
        also "attention_scores", a list with a tensor [B, N, T, S] float32 for each attention, in
        the order in which they are called.
    """

    gives_attention = True

    @property
    def function(self) -> Any:
        """What it computes: the function that the config's family names."""
        return MODEL_TYPES.load(self.config.model_type).part("encoder")

    @property
    def optional_inputs(self):
        return optional_inputs(self.function)

    def build(self, inputs_shape: dict[str, Shape] | None = None):
        self.add_weights(self.config.encoder_weights, self.config.layer_norm_eps)
        if self.output_norm is not None:
            self.output_norm.magnifies = True

    @property
    def blocks(self) -> list[Any]:
        """The blocks, layers of `tta.modeling.layers.blocks`."""
        return [self.of(f"layer_{i}") for i in range(self.config.num_hidden_layers)]

    @property
    def token_table(self):
        return getattr(getattr(self, "embeddings", None), "token_table", None)

    def call(
        self,
        inputs: Tensors,
        training: bool | None = None,
        return_attention_scores: bool = False,
    ):
        self.check_inputs(inputs)
        kit = KerasKit(training, attention_scores=[] if return_attention_scores else None)
        options = {name: inputs[name] for name in self.optional_inputs if name in inputs}
        is_real = ops.cast(inputs["padding_mask"], "bool")
        outputs = self.function(kit, self, self.config, inputs["input_ids"], is_real, **options)
        if return_attention_scores:
            outputs["attention_scores"] = kit.attention_scores
        return outputs

    def compute_output_in_float32(self) -> None:
        """Makes the products of the last block after its attention float32.

        The last LayerNorm may magnify small differences between tokens more than ten times
        (`LanguageModel.standardize_outputs`). In bfloat16, the products would have rounded them.
        """
        for name in self.config.magnified_products:
            self.of(name).dtype_policy = "float32"

    @property
    def output_norm(self):
        return self.of(self.config.last_norm) if self.config.last_norm else None

    def compute_output_shape(self, inputs_shape: dict[str, Shape]):
        shape = (*inputs_shape["input_ids"], self.config.hidden_size)
        return {"hidden_states": shape, "embedding_output": shape}


@keras.saving.register_keras_serializable("tta")
class CausalEncoder(FunctionEncoder):
    """uniLM's encoder, and the decoder of an autoencoder, which reads a memory, too.

    See `tta.modeling.functions.encoders.encode_autoregressive`. L layers, N heads, H = D / N.
    """

    def start(self, inputs: dict[str, Any], length: int) -> list[Any]:
        """The cache of `step` for B sentences of `length` tokens: [B, N, 1 + T, H] each, 2 L.

        `inputs` has the "memory".
        """
        cache = []
        for i, block in enumerate(self.blocks):
            row = memory_heads(KerasKit(), block, self.config, inputs["memory"], i)
            empty = ops.repeat(ops.zeros_like(row), length, axis=2)
            cache += [ops.concatenate([row, empty], axis=2)] * 2
        return cache

    def step(
        self, ids: Tensor, position: Tensor, cache: list[Any], inputs: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        """Reads one more token of each sentence, ids [B, 1] int32.

        `position` [] int32 is that of the token, from 0; `cache` is that of `start`, or of the step
        before; `inputs` have "added" and "memory". Returns (the last layer's output at the token
        [B, 1, D], the cache with the token).
        """
        keys = ops.arange(ops.shape(cache[0])[2])
        mask = (keys <= position + 1)[None, None]
        is_here = (keys == position + 1)[:, None]

        def extend(old, new):
            return ops.where(is_here, new, old)

        return step(
            KerasKit(),
            self,
            self.config,
            ids,
            position=ops.reshape(position, (1,)),
            added=inputs["added"],
            mask=mask,
            cache=cache,
            extend=extend,
        )
