"""What encoders share: a dict of tensors in, hidden states out; no head, no loss."""

from typing import Any

import keras
from keras import ops

from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.embeddings.token_position import Embeddings
from tta.modeling.layers.base import ConfiguredLayer
from tta.modeling.layers.blocks import TransformerBlock
from tta.modeling.layers.types import Shape


class Encoder(ConfiguredLayer):
    """The interface of every encoder.

    B batch, T tokens, D hidden size.

    Args:
        config: the model's config.
        embeddings: the input layer. None makes the family's own; loading from a serialized config
            always does.

    Call:
        inputs: dict with "input_ids" [B, T] int32 and "padding_mask" [B, T] bool, True at real
            tokens; and any of `optional_inputs`. Other entries are ignored.

    Returns:
        {"hidden_states": [B, T, D], ...}.
    """

    # Outputs besides "hidden_states" and "embedding_output".
    extra_outputs: tuple[str, ...] = ()
    # Inputs that change the result. An encoder refuses those that it does not use.
    optional_inputs: tuple[str, ...] = ()

    def __init__(
        self,
        config: LanguageModelConfig,
        embeddings: keras.layers.Layer | None = None,
        **kwargs: Any,
    ):
        super().__init__(config, **kwargs)
        self.embeddings: Any = self.make_embeddings() if embeddings is None else embeddings

    def make_embeddings(self) -> Any:
        """The input layer of the family. Give it a name: names of weights are a file format."""
        raise NotImplementedError

    def build(self, inputs_shape: dict[str, Shape] | None = None):
        self.embeddings.build()

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
        for name in ("word_ids", "wanted", "positions", "segment_ids", "added", "memory"):
            if name in inputs and name not in self.optional_inputs:
                raise TypeError(f"{type(self).__name__} takes no {name}")


class BlockEncoder(Encoder):
    """Token and position embeddings, and a stack of blocks; `call` of the subclass wires them.

    Returns:
        {"hidden_states": [B, T, D], "embedding_output": [B, T, D]}.
    """

    block_class = TransformerBlock

    def __init__(self, config: TransformerConfig, **kwargs: Any):
        super().__init__(config, **kwargs)
        self.blocks = [
            self.block_class(config, name=f"layer_{i}", dtype=self.dtype_policy)
            for i in range(config.num_hidden_layers)
        ]

    def make_embeddings(self) -> Any:
        return Embeddings(self.config, name="embeddings", dtype=self.dtype_policy)

    def build(self, inputs_shape: dict[str, Shape] | None = None):
        super().build(inputs_shape)
        for block in self.blocks:
            block.build((None, None, self.config.hidden_size))
        self.last_norm.magnifies = True

    @property
    def last_norm(self) -> Any:
        """The last `AddNorm`."""
        return self.blocks[-1].feed_forward_norm

    @property
    def token_table(self):
        return self.embeddings.token_table

    def compute_output_in_float32(self) -> None:
        """Makes the products of the last block after its attention float32.

        The last LayerNorm may magnify small differences between tokens more than ten times
        (`LanguageModel.standardize_outputs`). In bfloat16, the products would have rounded them.
        """
        block = self.blocks[-1]
        fed = block.feed_forward
        for product in (block.attention.output_dense, fed.intermediate_dense, fed.output_dense):
            product.dtype_policy = "float32"

    @property
    def output_norm(self):
        return self.last_norm.norm

    def compute_output_shape(self, inputs_shape: dict[str, Shape]):
        shape = (*inputs_shape["input_ids"], self.config.hidden_size)
        return {"hidden_states": shape, "embedding_output": shape}


def spread(x: Any, asked: Any) -> Any:
    """[B, Q, D] -> [B, T, D]: puts the Q rows where `asked` [T] is True; 0 elsewhere."""
    x = ops.pad(x, [[0, 0], [1, 0], [0, 0]])
    return ops.take(x, ops.where(asked, ops.cumsum(ops.cast(asked, "int32")), 0), axis=1)
