"""The encoders of the baselines: plain Transformers, bidirectional and causal."""

from typing import Any

import keras

from tta.modeling.encoders.base import BlockEncoder
from tta.modeling.layers.masks import causal_mask, full_mask


class _TransformerEncoder(BlockEncoder):
    """A plain post-LayerNorm Transformer with exactly T-TA's weights; subclasses give the mask."""

    attention_mask: Any = None

    def call(self, inputs, training=None):
        self.check_inputs(inputs)
        embedded = hidden = self.embeddings(inputs["input_ids"], training=training)
        mask = type(self).attention_mask(inputs["padding_mask"])
        for block in self.blocks:
            hidden = block(hidden, mask, training=training)
        return {"hidden_states": hidden, "embedding_output": embedded}


@keras.saving.register_keras_serializable("tta")
class BidirectionalEncoder(_TransformerEncoder):
    """biLM's encoder, BERT's without segments: every position attends to every real token."""

    attention_mask = staticmethod(full_mask)


@keras.saving.register_keras_serializable("tta")
class CausalEncoder(_TransformerEncoder):
    """uniLM's encoder: every position attends to itself and to the tokens before it."""

    attention_mask = staticmethod(causal_mask)
