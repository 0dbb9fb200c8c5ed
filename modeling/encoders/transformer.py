"""The encoders of the baselines: plain Transformers, bidirectional and causal."""

from typing import Any

import keras
from keras import ops

from tta.modeling.encoders.base import BlockEncoder
from tta.modeling.layers.masks import causal_mask, full_mask


class _TransformerEncoder(BlockEncoder):
    """A plain post-LayerNorm Transformer with exactly T-TA's weights; subclasses give the mask.

    `inputs` may also hold

    - "positions" [Q] int32. The hidden states are then those of these positions only, [B, Q, D],
      and the last layer computes no others.
    - "segment_ids" [B, T] int32, the segments of a BERT that has them (`num_segments`).
    - "added" [B, 1, D], added to the embeddings before their LayerNorm, and to the input of every
      later layer: the latent vector of an autoencoder.
    - "memory" [B, K, D], vectors that every position attends to in every layer, besides the tokens:
      the latent vectors of an autoencoder that has several.
    """

    optional_inputs = ("positions", "segment_ids", "added", "memory")
    attention_mask: Any = None

    def call(self, inputs, training=None):
        self.check_inputs(inputs)
        given = inputs["input_ids"], inputs.get("segment_ids"), inputs.get("added")
        embedded = hidden = self.embeddings(*given, training=training)
        mask, memory = type(self).attention_mask(inputs["padding_mask"]), inputs.get("memory")
        if memory is not None:
            width = [[0, 0], [0, 0], [ops.shape(memory)[1], 0]]
            mask = ops.pad(mask, width, constant_values=True)
        for number, block in enumerate(self.blocks):
            if number and "added" in inputs:
                hidden = hidden + ops.cast(inputs["added"], hidden.dtype)
            is_last = number == len(self.blocks) - 1
            positions = inputs.get("positions") if is_last else None
            projected = None
            if memory is not None:
                stream = ops.concatenate([ops.cast(memory, hidden.dtype), hidden], axis=1)
                projected = block.attention.project(stream)
            hidden = block(hidden, mask, positions, projected, training=training)
        return {"hidden_states": hidden, "embedding_output": embedded}


@keras.saving.register_keras_serializable("tta")
class BidirectionalEncoder(_TransformerEncoder):
    """biLM's encoder, BERT's without segments: every position attends to every real token."""

    attention_mask = staticmethod(full_mask)


@keras.saving.register_keras_serializable("tta")
class CausalEncoder(_TransformerEncoder):
    """uniLM's encoder: every position attends to itself and to the tokens before it."""

    attention_mask = staticmethod(causal_mask)
