"""One layer of an encoder: attention and feed-forward, each with a residual and a LayerNorm."""

from functools import partial
from typing import Any

import keras
from keras import ops

from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.layers.attention import DiagonalMaskedSelfAttention, MaskedAttention
from tta.modeling.layers.base import ConfiguredLayer
from tta.modeling.layers.dense import AddNorm, FeedForward


class _Block(ConfiguredLayer):
    """Base of the T-TA layer and the Transformer layer, which differ in `attention_class`.

    H = Norm(Q + Attention(Q, K, V)), Q' = Norm(H + FFN(H)). The residual is the query. With
    `config.norm_first`, H = Q + Attention(Norm(Q), K, V), Q' = H + FFN(Norm(H)).

    Args:
        config: a `TransformerConfig`.

    Call:
        query: [B, T, D]; B may be 1 (broadcast).
        key_value: [B, T, D]; None is the query, normalized if `norm_first`.
        mask, projected, more: as in `attention_class`.

    Returns:
        [B, T, D] float32.
    """

    attention_class = MaskedAttention

    def __init__(self, config: TransformerConfig, **kwargs: Any):
        # The residual stays float32; the products cast their own inputs.
        super().__init__(config, **kwargs | {"autocast": False})
        policy = self.dtype_policy
        add_norm = partial(AddNorm, config.hidden_dropout_prob, config.layer_norm_eps)
        self.attention = self.attention_class(
            config.num_attention_heads,
            config.attention_probs_dropout_prob,
            config.initializer_range,
            config.max_relative_distance,
            name="attention",
            dtype=policy,
        )
        self.attention_norm = add_norm(name="attention_norm")
        self.feed_forward = FeedForward(
            config.intermediate_size,
            config.hidden_act,
            config.initializer_range,
            name="feed_forward",
            dtype=policy,
        )
        self.feed_forward_norm = add_norm(name="feed_forward_norm")

    def build(self, input_shape):
        self.attention.build(input_shape)
        self.attention_norm.build(input_shape)
        self.feed_forward.build(input_shape)
        self.feed_forward_norm.build(input_shape)

    def call(self, query, key_value, mask, projected=None, training=None, **more):
        norms = self.attention_norm, self.feed_forward_norm

        def attend(x):
            stream = x if key_value is None else key_value
            return self.attention(x, stream, mask, projected, training=training, **more)

        hidden = query
        for sub_layer, norm in zip((attend, self.feed_forward), norms, strict=True):
            if self.config.norm_first:
                made = sub_layer(norm.normalize(hidden, training))
                hidden = norm.add(made, hidden, training)
            else:
                hidden = norm(sub_layer(hidden), hidden, training=training)
        return hidden


@keras.saving.register_keras_serializable("tta")
class SelfMaskedSelfAttentionBlock(_Block):
    """SMSAN: one layer of T-TA (paper, section 4.2.2 and equation 1).

    Only the query changes from layer to layer. K and V come from the same fixed key/value stream
    in every layer. If they changed with the query, a token would reach its own position through
    its neighbours in the second layer. Arguments as in `_Block`. The mask is the padding mask
    [B, T] bool, or pairs [B, T, T] bool; `positions` is as in `DiagonalMaskedSelfAttention`.
    """

    attention_class = DiagonalMaskedSelfAttention


@keras.saving.register_keras_serializable("tta")
class CrossAttentionBlock(_Block):
    """One layer whose queries attend to another stream under any mask.

    Call:
        query: [B, Q, D].
        key_value: [B, S, D].
        mask: [B, Q or 1, S] bool, True = may attend.
        projected: (keys, values) [B, N, S, H] to attend to; None makes them from `key_value`.

    Returns:
        [B, Q, D] float32.
    """


@keras.saving.register_keras_serializable("tta")
class TransformerBlock(_Block):
    """One layer of BERT or of a left-to-right model: queries, keys and values are the same stream.

    `positions` need a config without `norm_first`.

    Call:
        x: [B, T, D].
        attention_mask: [B, T or 1, T] bool, True = may attend.
        positions: [Q] int32, the positions to compute; None is all.
        projected: (keys, values) [B, N, S, H] to attend to; None makes them from x.

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
