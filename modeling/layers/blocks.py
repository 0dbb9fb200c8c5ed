"""One layer of an encoder: attention and feed-forward, each with a residual and a LayerNorm."""

from typing import Any

import keras
from keras import ops

from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.functions.layers import block
from tta.modeling.kits.keras import KerasKit
from tta.modeling.layers.attention import diagonal_mask
from tta.modeling.layers.base import ConfiguredLayer


@keras.saving.register_keras_serializable("tta")
class CrossAttentionBlock(ConfiguredLayer):
    """One layer whose queries attend to another stream under any mask.

    H = Norm(Q + Attention(Q, K, V)), Q' = Norm(H + FFN(H)). The residual is the query. With
    `config.norm_first`, H = Q + Attention(Norm(Q), K, V), Q' = H + FFN(Norm(H)).

    Args:
        config: a `TransformerConfig`.

    Call:
        query: [B, Q, D]; B may be 1 (broadcast).
        key_value: [B, S, D]; None is the query, normalized if `norm_first`.
        mask: [B, Q or 1, S] bool, True = may attend.
        projected, distances: as in `MaskedAttention`.

    Returns:
        [B, Q, D] float32.
    """

    def __init__(self, config: TransformerConfig, **kwargs: Any):
        # The residual stays float32; the products cast their own inputs.
        super().__init__(config, **kwargs | {"autocast": False})

    def build(self, input_shape):
        self.add_weights(self.config.block_weights, self.config.layer_norm_eps)

    def call(self, query, key_value, mask, projected=None, distances=None, training=None):
        given = mask, key_value, projected, distances
        return block(KerasKit(training), self, self.config, query, *given)


@keras.saving.register_keras_serializable("tta")
class SelfMaskedSelfAttentionBlock(CrossAttentionBlock):
    """SMSAN: one layer of T-TA (paper, section 4.2.2 and equation 1).

    Only the query changes from layer to layer. K and V come from the same fixed key/value stream
    in every layer. If they changed with the query, a token would reach its own position through
    its neighbours in the second layer. Arguments as in `CrossAttentionBlock`. The mask is the
    padding mask [B, T] bool, or pairs [B, T, T] bool; `positions` is as in
    `DiagonalMaskedSelfAttention`.
    """

    def call(self, query, key_value, mask, projected=None, positions=None, training=None, **more):
        mask = diagonal_mask(mask, positions)
        return super().call(query, key_value, mask, projected, training=training, **more)


@keras.saving.register_keras_serializable("tta")
class TransformerBlock(CrossAttentionBlock):
    """One layer of BERT or of a left-to-right model: queries, keys and values are the same stream.

    `positions` need a config without `norm_first`.

    Call:
        x: [B, T, D].
        attention_mask: [B, T or 1, T] bool, True = may attend.
        positions: [Q] int32, the positions to compute; None is all.
        projected, distances: as in `MaskedAttention`.

    Returns:
        [B, T or Q, D] float32.
    """

    def call(self, x, attention_mask, positions=None, projected=None, training=None, **more):
        query, stream = x, None
        if positions is not None:
            assert not self.config.norm_first
            query, stream = ops.take(x, positions, axis=1), x
            if attention_mask.shape[1] != 1:
                attention_mask = ops.take(attention_mask, positions, axis=1)
        return super().call(query, stream, attention_mask, projected, training=training, **more)
