"""Encoders: layers put together, from token ids to hidden states; they know no head or loss."""

import dataclasses

import keras

from tta.modeling.attention import DiagonalMaskedSelfAttention
from tta.modeling.config import ModelConfig
from tta.modeling.embeddings import Embeddings
from tta.modeling.layers import AddNorm, FeedForward


@keras.saving.register_keras_serializable("tta")
class SelfMaskedSelfAttentionBlock(keras.layers.Layer):
    """SMSAN: one layer of T-TA (paper, section 3.3, equations 5 to 7).

    Only the query moves: H = Norm(Q + DMSA(Q, K, V)), Q' = Norm(H + FFN(H)), with K and V from
    the same fixed key/value stream in every layer. Were they to move with the query, a token
    would come back to its own position through its neighbours in the second layer.

    Args:
        num_attention_heads, intermediate_size, hidden_act, hidden_dropout_prob,
        attention_probs_dropout_prob, initializer_range, layer_norm_eps: as in `ModelConfig`.

    Call:
        query: [B, T, D]; B may be 1 (broadcast).
        key_value: [B, T, D].
        padding_mask: [B, T] bool, True at real tokens.

    Returns:
        [B, T, D], the next layer's query.
    """

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
        self.attention = DiagonalMaskedSelfAttention(
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

    def build(self, query_shape, key_value_shape=None, padding_mask_shape=None):
        self.attention.build(query_shape, query_shape)
        self.attention_norm.build(query_shape)
        self.feed_forward.build(query_shape)
        self.feed_forward_norm.build(query_shape)

    def call(self, query, key_value, padding_mask, training=None):
        attended = self.attention(query, key_value, padding_mask, training=training)
        hidden = self.attention_norm(attended, query, training=training)
        return self.feed_forward_norm(self.feed_forward(hidden), hidden, training=training)

    def compute_output_shape(self, query_shape, key_value_shape, padding_mask_shape=None):
        return key_value_shape

    def get_config(self):
        return super().get_config() | self.settings


@keras.saving.register_keras_serializable("tta")
class TTAEncoder(keras.layers.Layer):
    """T-TA's encoder: every position encoded from all the others in one pass (paper, section 3).

    B batch, T tokens, D hidden size.

    Args:
        config: `ModelConfig`.

    Call:
        input_ids: [B, T] int32.
        padding_mask: [B, T] bool, True at real tokens.

    Returns:
        {"hidden_states": [B, T, D], "embedding_output": [B, T, D]}. Row i of the hidden states is
        the same, bit for bit, whatever token i is.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        self.embeddings = Embeddings(
            config.vocab_size,
            config.hidden_size,
            config.max_position_embeddings,
            config.hidden_dropout_prob,
            config.layer_norm_eps,
            config.initializer_range,
            name="embeddings",
            dtype=self.dtype_policy,
        )
        self.blocks = [
            SelfMaskedSelfAttentionBlock(
                config.num_attention_heads,
                config.intermediate_size,
                config.hidden_act,
                config.hidden_dropout_prob,
                config.attention_probs_dropout_prob,
                config.initializer_range,
                config.layer_norm_eps,
                name=f"layer_{i}",
                dtype=self.dtype_policy,
            )
            for i in range(config.num_hidden_layers)
        ]

    def build(self, input_ids_shape=None, padding_mask_shape=None):
        self.embeddings.build()
        for block in self.blocks:
            block.build((None, None, self.config.hidden_size))

    def call(self, input_ids, padding_mask, training=None):
        key_value = self.embeddings(input_ids, training=training)
        query = self.embeddings.first_query(
            input_ids, self.config.first_query_token_id, training=training
        )  # [1, T, D]
        for block in self.blocks:
            query = block(query, key_value, padding_mask, training=training)
        return {"hidden_states": query, "embedding_output": key_value}

    def compute_output_shape(self, input_ids_shape, padding_mask_shape=None):
        shape = (*input_ids_shape, self.config.hidden_size)
        return {"hidden_states": shape, "embedding_output": shape}

    def get_config(self):
        return super().get_config() | {"config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**config | {"config": ModelConfig(**config["config"])})


# model_type in config.json -> encoder. A new encoder is one class and one line here.
ENCODERS = {"tta": TTAEncoder}
