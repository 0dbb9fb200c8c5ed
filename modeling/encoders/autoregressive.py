"""The autoregressive decoder of an autoencoder: a uniLM that also attends to a memory.

B batch, T tokens, D hidden size, L layers, N heads, H = D / N, S keys and values.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.encoders.base import BlockEncoder
from tta.modeling.layers.attention import split_heads
from tta.modeling.layers.masks import causal_mask
from tta.modeling.layers.types import Tensor, Tensors


@keras.saving.register_keras_serializable("tta")
class MemoryDecoder(BlockEncoder):
    """Optimus's decoder (Li et al. 2020, section 3): weights and mask are those of a uniLM.

    `inputs` may also hold what `LatentInputs` makes of a latent vector:

    - "added" [B, 1, D], added to the embeddings before their LayerNorm.
    - "memory" [B, L, D], one more key, which is also the value, in each layer. Every token attends
      to it.
    """

    optional_inputs = ("added", "memory")

    def call(self, inputs: Tensors, training: bool | None = None):
        self.check_inputs(inputs)
        ids, added = inputs["input_ids"], inputs.get("added")
        embedded = hidden = self.embeddings(ids, added=added, training=training)
        mask = causal_mask(inputs["padding_mask"])
        if "memory" in inputs:
            mask = ops.pad(mask, [[0, 0], [0, 0], [1, 0]], constant_values=True)
        for block, memory in zip(self.blocks, self._memories(inputs), strict=True):
            projected = block.attention.project(hidden)
            if memory is not None:
                pairs = zip(memory, projected, strict=True)
                projected = tuple(ops.concatenate(pair, axis=2) for pair in pairs)
            hidden = block(hidden, mask, projected=projected, training=training)
        return {"hidden_states": hidden, "embedding_output": embedded}

    def start(self, inputs: dict[str, Any], length: int) -> list[Any]:
        """The cache of `step` for B sentences of `length` tokens: [B, N, 1 + T, H] each, 2 L.

        `inputs` has the "memory".
        """
        memories = [one for pair in self._memories(inputs) for one in pair]
        empty = ops.zeros_like(memories[0])
        empty = ops.repeat(empty, length, axis=2)
        return [ops.concatenate([one, empty], axis=2) for one in memories]

    def step(
        self, ids: Tensor, position: Tensor, cache: list[Any], inputs: dict[str, Any]
    ) -> tuple[Any, list[Any]]:
        """Reads one more token of each sentence, ids [B, 1] int32.

        `position` [] int32 is that of the token, from 0; `cache` is that of `start`, or of the step
        before; `inputs` have "added" and "memory". Returns (the last layer's output at the token
        [B, 1, D], the cache with the token).
        """
        positions = ops.reshape(position, (1,))
        hidden = self.embeddings(ids, added=inputs["added"], positions=positions)
        keys = ops.arange(ops.shape(cache[0])[2])
        mask = (keys <= position + 1)[None, None]
        is_here = (keys == position + 1)[:, None]
        after = []
        for number, block in enumerate(self.blocks):
            pairs = zip(block.attention.project(hidden), cache[2 * number :], strict=False)
            projected = [ops.where(is_here, new, old) for new, old in pairs]
            hidden = block(hidden, mask, projected=projected)
            after += projected
        return hidden, after

    def _memories(self, inputs) -> list[Any]:
        """For each layer the memory as (key, value), [B, N, 1, H] each, or None without memory."""
        if "memory" not in inputs:
            return [None] * len(self.blocks)
        heads = self.config.num_attention_heads
        memory = ops.cast(inputs["memory"], self.compute_dtype)
        vectors = (memory[:, number, None] for number in range(len(self.blocks)))
        return [(split_heads(one, heads),) * 2 for one in vectors]
