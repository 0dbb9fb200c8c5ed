"""uniLM's encoder, and the autoregressive decoder of an autoencoder, which also reads a memory.

B batch, T tokens, D hidden size, L layers, N heads, H = D / N.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.encoders.base import FunctionEncoder
from tta.modeling.functions.encoders.autoregressive import encode, memory_heads, step
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Tensor


@keras.saving.register_keras_serializable("tta")
class CausalEncoder(FunctionEncoder):
    """Reads from left to right, see `tta.modeling.functions.encoders.autoregressive`."""

    encode = staticmethod(encode)

    def start(self, inputs: dict[str, Any], length: int) -> list[Any]:
        """The cache of `step` for B sentences of `length` tokens: [B, N, 1 + T, H] each, 2 L.

        `inputs` has the "memory".
        """
        found = []
        for i, block in enumerate(self.blocks):
            row = memory_heads(KerasKit(), block, self.config, inputs["memory"], i)
            empty = ops.repeat(ops.zeros_like(row), length, axis=2)
            found += [ops.concatenate([row, empty], axis=2)] * 2
        return found

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

        given = ids, ops.reshape(position, (1,)), inputs["added"], mask, cache, extend
        return step(KerasKit(), self, self.config, *given)
