"""Encoders: layers put together, from token ids to hidden states; they know no head or loss."""

import dataclasses

import keras
from keras import ops

from tta.modeling.config.transformer import ModelConfig
from tta.modeling.embeddings.token_position import Embeddings
from tta.modeling.layers.attention import project_together
from tta.modeling.layers.blocks import SelfMaskedSelfAttentionBlock, TransformerBlock
from tta.modeling.layers.masks import causal_mask, full_mask, within_word_mask


class _Encoder(keras.layers.Layer):
    """Embeddings and a stack of blocks; how they are wired is the subclass's `call`.

    B batch, T tokens, D hidden size.

    Args:
        config: `ModelConfig`.

    Call:
        input_ids: [B, T] int32.
        padding_mask: [B, T] bool, True at real tokens.

    Returns:
        {"hidden_states": [B, T, D], "embedding_output": [B, T, D]}.
    """

    block_class = TransformerBlock

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
            self.block_class(
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

    def compute_output_shape(self, input_ids_shape, padding_mask_shape=None):
        shape = (*input_ids_shape, self.config.hidden_size)
        return {"hidden_states": shape, "embedding_output": shape}

    def get_config(self):
        return super().get_config() | {"config": dataclasses.asdict(self.config)}

    @classmethod
    def from_config(cls, config):
        return cls(**config | {"config": ModelConfig(**config["config"])})


@keras.saving.register_keras_serializable("tta")
class TTAEncoder(_Encoder):
    """T-TA's encoder: every position encoded from all the others in one pass (paper, section 3).

    Arguments and shapes as in `_Encoder`. Row i of the hidden states is the same, bit for bit,
    whatever token i is; and, where `word_ids` are given, whatever the later pieces of its word are.
    Key and value are fixed, so that nothing hidden in one layer comes back in the next.

    Call:
        word_ids: None, or [B, T] int32, the same at all pieces of a word and at no other real
            token: within-word left-to-right (Kauf and Ivanova 2023).
        wanted: None, or [B, T] bool, the tokens whose hidden states are asked for. Nothing looks at
            another token's query, so positions at which no sentence wants any cost nothing; their
            hidden states are 0.
    """

    block_class = SelfMaskedSelfAttentionBlock

    def call(self, input_ids, padding_mask, word_ids=None, wanted=None, training=None):
        mask = padding_mask if word_ids is None else within_word_mask(padding_mask, word_ids)
        key_value = self.embeddings(input_ids, training=training)
        query = self.embeddings.first_query(
            input_ids, self.config.first_query_token_id, training=training
        )  # [1, T, D]
        positions = None
        if wanted is not None:
            asked = ops.any(wanted, axis=0)  # [T]
            positions = ops.nonzero(asked)[0]
            query = ops.take(query, positions, axis=1)
        # The stream is the same in all layers: so are its keys and values, but for their weights.
        projections = project_together(key_value, [block.attention for block in self.blocks])
        for block, projected in zip(self.blocks, projections, strict=True):
            query = block(query, key_value, mask, projected, positions=positions, training=training)
        if wanted is not None:
            query = _spread(query, asked)
        return {"hidden_states": query, "embedding_output": key_value}


def _spread(x, asked):
    """[B, Q, D] -> [B, T, D]: the columns of x where asked [T] is True, Q times; 0 elsewhere."""
    x = ops.pad(x, [[0, 0], [1, 0], [0, 0]])
    return ops.take(x, ops.where(asked, ops.cumsum(ops.cast(asked, "int32")), 0), axis=1)


class _TransformerEncoder(_Encoder):
    """A plain post-LayerNorm Transformer; subclasses say who may attend to whom.

    Arguments and shapes as in `_Encoder`. It has exactly T-TA's weights.
    """

    attention_mask = None

    def call(self, input_ids, padding_mask, training=None):
        embedded = hidden = self.embeddings(input_ids, training=training)
        mask = type(self).attention_mask(padding_mask)
        for block in self.blocks:
            hidden = block(hidden, mask, training=training)
        return {"hidden_states": hidden, "embedding_output": embedded}


@keras.saving.register_keras_serializable("tta")
class BidirectionalEncoder(_TransformerEncoder):
    """biLM's encoder, BERT's without segments: every position sees every token, itself too.

    Arguments and shapes as in `_Encoder`.
    """

    attention_mask = staticmethod(full_mask)


@keras.saving.register_keras_serializable("tta")
class CausalEncoder(_TransformerEncoder):
    """uniLM's encoder: every position sees itself and what stands before it.

    Arguments and shapes as in `_Encoder`.
    """

    attention_mask = staticmethod(causal_mask)


# model_type in config.json -> encoder. A new encoder is one class and one line here.
ENCODERS = {"tta": TTAEncoder, "bilm": BidirectionalEncoder, "unilm": CausalEncoder}
