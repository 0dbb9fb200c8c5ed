"""One layer of an encoder: attention and feed-forward, each ending in LayerNorm(residual + x)."""

import keras

from tta.modeling.layers.attention import DiagonalMaskedSelfAttention, MaskedAttention
from tta.modeling.layers.dense import AddNorm, FeedForward


class _Block(keras.layers.Layer):
    """What T-TA's layers and a plain Transformer's share; they differ in `attention_class`.

    H = Norm(Q + Attention(Q, K, V)), Q' = Norm(H + FFN(H)); the residual is the query's.

    Args:
        num_attention_heads, intermediate_size, hidden_act, hidden_dropout_prob,
        attention_probs_dropout_prob, initializer_range, layer_norm_eps: as in `ModelConfig`.

    Call:
        query: [B, T, D]; B may be 1 (broadcast).
        key_value: [B, T, D].
        mask: what `attention_class` takes.
        projected, more: as `attention_class` takes them.

    Returns:
        [B, T, D].
    """

    attention_class = MaskedAttention

    def __init__(
        self,
        num_attention_heads,
        intermediate_size,
        hidden_act="gelu",
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        initializer_range=0.02,
        layer_norm_eps=1e-12,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.settings = {
            "num_attention_heads": num_attention_heads,
            "intermediate_size": intermediate_size,
            "hidden_act": hidden_act,
            "hidden_dropout_prob": hidden_dropout_prob,
            "attention_probs_dropout_prob": attention_probs_dropout_prob,
            "initializer_range": initializer_range,
            "layer_norm_eps": layer_norm_eps,
        }
        policy = self.dtype_policy
        self.attention = self.attention_class(
            num_attention_heads,
            attention_probs_dropout_prob,
            initializer_range,
            name="attention",
            dtype=policy,
        )
        self.attention_norm = AddNorm(
            hidden_dropout_prob, layer_norm_eps, name="attention_norm", dtype=policy
        )
        self.feed_forward = FeedForward(
            intermediate_size, hidden_act, initializer_range, name="feed_forward", dtype=policy
        )
        self.feed_forward_norm = AddNorm(
            hidden_dropout_prob, layer_norm_eps, name="feed_forward_norm", dtype=policy
        )

    def build(self, query_shape, key_value_shape=None, mask_shape=None):
        self.attention.build(query_shape, query_shape)
        self.attention_norm.build(query_shape)
        self.feed_forward.build(query_shape)
        self.feed_forward_norm.build(query_shape)

    def call(self, query, key_value, mask, projected=None, training=None, **more):
        attended = self.attention(query, key_value, mask, projected, training=training, **more)
        hidden = self.attention_norm(attended, query, training=training)
        return self.feed_forward_norm(
            self.feed_forward(hidden, training=training), hidden, training=training
        )

    def compute_output_shape(self, query_shape, key_value_shape, mask_shape=None):
        return key_value_shape

    def get_config(self):
        return super().get_config() | self.settings


@keras.saving.register_keras_serializable("tta")
class SelfMaskedSelfAttentionBlock(_Block):
    """SMSAN: one layer of T-TA (paper, section 3.3, equations 5 to 7).

    Only the query moves; K and V come from the same fixed key/value stream in every layer. Were
    they to move with the query, a token would come back to its own position through its neighbours
    in the second layer. Arguments as in `_Block`; `mask` is the padding mask [B, T] bool, or pairs
    [B, T, T] bool, and there may be `positions`, as `DiagonalMaskedSelfAttention` takes them.
    """

    attention_class = DiagonalMaskedSelfAttention


@keras.saving.register_keras_serializable("tta")
class TransformerBlock(_Block):
    """One layer of BERT or of a left-to-right model: queries, keys and values all move.

    Arguments as in `_Block`.

    Call:
        x: [B, T, D].
        attention_mask: [B, T or 1, T] bool, True = may attend.

    Returns:
        [B, T, D].
    """

    def build(self, x_shape, attention_mask_shape=None):
        super().build(x_shape)

    def call(self, x, attention_mask, training=None):
        return super().call(x, x, attention_mask, training=training)

    def compute_output_shape(self, x_shape, attention_mask_shape=None):
        return x_shape
