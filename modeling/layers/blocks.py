"""DMSA, SMSAN and their parts as Keras layers: of the models here, and for models of your own.

An encoder owns these layers and calls them. What a layer computes is a function of
`tta.modeling.functions.layers`, which runs in other kits, too.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.config.weights import attention
from tta.modeling.functions import layers, masks
from tta.modeling.kits.keras import KerasKit, complete, is_complete
from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import ConfiguredLayer, PlainLayer


class _Stream(ConfiguredLayer, PlainLayer):
    """A layer that makes a stream [B, T, D]; its products cast their own inputs."""

    # The type of the result is that of `call`, not that of the products.
    compute_output_spec = keras.Operation.compute_output_spec

    def __init__(self, config: TransformerConfig, **kwargs: Any):
        super().__init__(config, **kwargs | {"autocast": False})
        self.supports_masking = True

    def compute_output_shape(self, input_shape: Shape):
        return (*input_shape[:2], self.config.hidden_size)


@keras.saving.register_keras_serializable("tta")
class Embeddings(_Stream):
    """LayerNorm(token + position), with a BERT's segments; or T-TA's first query.

    Args:
        config: a `TransformerConfig`.
        mask_zero: as in Keras's Embedding: whether id 0 is padding, so that outputs carry its mask.

    Call:
        ids: [B, T] int32.
        segment_ids, added, positions: as in `tta.modeling.functions.layers.embed`.
        first_query: whether the result is the query of T-TA's first layer, LayerNorm(position):
            [1, T, D], the same for every sentence.

    Returns:
        [B, T, D] float32.
    """

    def __init__(self, config: TransformerConfig, mask_zero: bool = False, **kwargs: Any):
        super().__init__(config, **kwargs)
        self.mask_zero = mask_zero

    def build(self, input_shape: Shape):
        self.add_weights(self.config.embedding_weights, self.config.layer_norm_eps)

    def call(
        self, ids, segment_ids=None, added=None, positions=None, first_query=False, training=None
    ):
        kit, config = KerasKit(training), self.config
        if first_query:
            return layers.first_query(kit, self, config.first_query_token_id, ids, added)
        inputs = {"segment_ids": segment_ids, "added": added, "positions": positions}
        return layers.embed(kit, self, config, ids, **inputs)

    def compute_output_spec(self, ids, *given, first_query=False, added=None, **more):
        rows = 1 if first_query and added is None else ids.shape[0]
        return keras.KerasTensor((rows, ids.shape[1], self.config.hidden_size), "float32")

    def compute_mask(self, inputs, previous_mask=None):
        return ops.not_equal(inputs, 0) if self.mask_zero else previous_mask


@keras.saving.register_keras_serializable("tta")
class FeedForward(_Stream):
    """FFN: two dense layers with an activation between them (paper, equation 1).

    Args:
        config: a `TransformerConfig`.

    Call:
        x: [B, T, D].

    Returns:
        [B, T, D].
    """

    def build(self, input_shape: Shape):
        self.add_weights(self.config.block_weights()["feed_forward"])

    def call(self, x: Tensor, training: bool | None = None):
        return layers.feed_forward(KerasKit(training), self, x, self.config.hidden_act)


@keras.saving.register_keras_serializable("tta")
class AddNorm(_Stream):
    """The end of a sub-layer: LayerNorm(residual + dropout(x)).

    With `config.norm_first`, a block calls it without a residual, for the LayerNorm of the input of
    a sub-layer, and its dropout by itself.

    Args:
        config: a `TransformerConfig`.
        is_last: whether it is the encoder's last one, which computes its LayerNorm more precisely.
        dropout: fraction of x that is dropped in training; None is that of the config.

    Call:
        x: [B, T, D].
        residual: [B or 1, T, D]; None: the result is LayerNorm(x).

    Returns:
        [B, T, D] float32.
    """

    def __init__(
        self,
        config: TransformerConfig,
        is_last: bool = False,
        dropout: float | None = None,
        **kwargs: Any,
    ):
        super().__init__(config, **kwargs)
        self.is_last = is_last
        self.dropout = dropout

    def build(self, input_shape: Shape):
        table = self.config.norm_weights(dropout=self.dropout)
        self.add_weights(table, self.config.layer_norm_eps)
        self.norm.magnifies = self.is_last and not self.config.norm_first

    def call(self, x: Tensor, residual: Tensor | None = None, training: bool | None = None):
        return layers.add_norm(KerasKit(training), self, x, residual)


@keras.saving.register_keras_serializable("tta")
class MaskedAttention(PlainLayer):
    """Multi-head attention from one stream to another, with BERT's four projections.

    B batch, T queries, S keys, D hidden size, N heads.

    Args:
        num_heads: N; divides D.
        dropout: fraction of the attention weights dropped in training.
        initializer_range: standard deviation of the initial kernels.
        max_relative_distance: K. Each head has a learned number for each distance from -K to K,
            which is added to the logits (as in T5, without its buckets); larger distances count as
            K. 0 adds nothing.

    Call:
        query: [B, T, D]; B may be 1 (broadcast).
        key_value: [B, S, D].
        attention_mask: [B, T or 1, S] bool, True = may attend; [B, S] is the same for all queries.
            Numbers 1 and 0 are True and False.
        projected: a (key, value) pair [B, N, S, H] to attend to; None makes it from `key_value`.
        distances: [T, S] int32, position of the key minus position of the query; needed if K > 0.
        shared: as in `tta.modeling.functions.layers.attention`.
        return_attention_scores: whether to return the weights of the keys, too.

    Returns:
        [B, T, D]. A query without any allowed key gets only the bias of the output projection. With
        `return_attention_scores`, a pair of this and [B, N, T, S] float32.
    """

    compute_output_spec = keras.Operation.compute_output_spec

    def __init__(
        self,
        num_heads: int,
        dropout: float = 0.0,
        initializer_range: float = 0.02,
        max_relative_distance: int = 0,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.dropout = dropout
        self.initializer_range = initializer_range
        self.max_relative_distance = max_relative_distance
        self.supports_masking = True

    def build(self, input_shape: Shape):
        size = input_shape[-1]
        if size % self.num_heads:
            raise ValueError(f"hidden size {size} is not a multiple of num_heads {self.num_heads}")
        weights = attention(
            size,
            self.num_heads,
            start=self.initializer_range,
            max_relative_distance=self.max_relative_distance,
            dropout=self.dropout,
        )
        self.add_weights(weights)

    def call(
        self,
        query,
        key_value,
        attention_mask,
        projected=None,
        distances=None,
        shared=None,
        training=None,
        return_attention_scores=False,
    ):
        if not self.max_relative_distance:
            distances = None
        elif distances is None:
            raise ValueError("an attention with max_relative_distance needs distances")
        kit = KerasKit(training, attention_scores=[] if return_attention_scores else None)
        attended = layers.attention(
            kit,
            self,
            query,
            key_value,
            mask=_pairs(attention_mask),
            num_heads=self.num_heads,
            projected=projected,
            distances=distances,
            shared=shared,
        )
        return attended if kit.attention_scores is None else (attended, *kit.attention_scores)

    def compute_output_shape(self, input_shape: Shape):
        return input_shape


@keras.saving.register_keras_serializable("tta")
class DiagonalMaskedSelfAttention(MaskedAttention):
    """DMSA: attention in which no position sees itself (paper, section 4.2.1 and equation 2).

    Arguments and shapes as in `MaskedAttention`, with two differences in the call. `padding_mask`
    replaces `attention_mask`: [B, S] bool, or [B, S, S] bool to forbid more pairs than padding
    does. The diagonal is always forbidden. The queries are all positions of the sentence (T = S),
    or only those at `positions` [T] int32. A mask that `diagonal_mask` has made, or that the
    encoder of a model hands to its blocks, has no diagonal, and is taken as it is.
    """

    def call(
        self, query, key_value, padding_mask, projected=None, positions=None, training=None, **more
    ):
        mask = diagonal_mask(padding_mask, positions)
        return super().call(query, key_value, mask, projected, training=training, **more)


def _pairs(mask):
    """[B, Q or 1, S] bool of a mask of pairs or of keys."""
    mask = ops.cast(mask, "bool")
    return mask if len(mask.shape) == 3 else masks.everything(KerasKit(), mask)


def diagonal_mask(mask: Any, positions: Any = None) -> Any:
    """The mask of a DMSA: [B, T (query), S (key)] bool; arguments as those of its call."""
    if is_complete(mask):
        return mask
    mask = ops.cast(mask, "bool")
    queries = ops.arange(ops.shape(mask)[-1]) if positions is None else positions
    if len(mask.shape) == 2:
        return complete(masks.others(KerasKit(), mask, queries))
    pairs = mask if positions is None else ops.take(mask, positions, axis=1)
    return complete(masks.not_self(KerasKit(), queries, ops.shape(mask)[-1]) & pairs)


@keras.saving.register_keras_serializable("tta")
class CrossAttentionBlock(_Stream):
    """One layer whose queries attend to another stream under any mask.

    H = Norm(Q + Attention(Q, K, V)), Q' = Norm(H + FFN(H)). The residual is the query. With
    `config.norm_first`, H = Q + Attention(Norm(Q), K, V), Q' = H + FFN(Norm(H)).

    Args:
        config: a `TransformerConfig`.
        is_last: whether it is the encoder's last one.

    Call:
        query: [B, Q, D]; B may be 1 (broadcast).
        key_value: [B, S, D]; None is the query, normalized if `norm_first`.
        mask: as the `attention_mask` of `MaskedAttention`.
        projected, distances, shared, return_attention_scores: as in `MaskedAttention`.

    Returns:
        [B, Q, D] float32; with `return_attention_scores`, a pair as in `MaskedAttention`.
    """

    attention_layer = MaskedAttention

    def __init__(self, config: TransformerConfig, is_last: bool = False, **kwargs: Any):
        super().__init__(config, **kwargs)
        self.is_last = is_last

    def build(self, input_shape: Shape):
        config = self.config
        self.attention: Any = self.attention_layer(
            config.num_attention_heads,
            config.attention_probs_dropout_prob,
            config.initializer_range,
            config.max_relative_distance,
            name="attention",
            dtype=self.dtype_policy,
        )
        self.attention.build((None, None, config.hidden_size))
        self.add_weights(config.block_weights(self.is_last), config.layer_norm_eps)

    def call(
        self,
        query,
        key_value,
        mask,
        projected=None,
        distances=None,
        shared=None,
        training=None,
        return_attention_scores=False,
    ):
        kit = KerasKit(training, attention_scores=[] if return_attention_scores else None)
        hidden = layers.block(
            kit,
            self,
            self.config,
            query,
            key_value,
            mask=_pairs(mask),
            is_last=self.is_last,
            projected=projected,
            distances=distances,
            shared=shared,
        )
        return hidden if kit.attention_scores is None else (hidden, *kit.attention_scores)

    def compute_mask(self, inputs, previous_mask=None):
        # `previous_mask` may be the call's, which has a row for each key.
        return getattr(inputs, "_keras_mask", None)


@keras.saving.register_keras_serializable("tta")
class SelfMaskedSelfAttentionBlock(CrossAttentionBlock):
    """SMSAN: one layer of T-TA (paper, section 4.2.2 and equation 1).

    Only the query changes from layer to layer. K and V come from the same fixed key/value stream
    in every layer. If they changed with the query, a token would reach its own position through
    its neighbours in the second layer. Arguments as in `CrossAttentionBlock`. The mask is the
    padding mask [B, T] bool, or pairs [B, T, T] bool; `positions` is as in
    `DiagonalMaskedSelfAttention`.
    """

    attention_layer = DiagonalMaskedSelfAttention

    def call(self, query, key_value, mask, projected=None, positions=None, training=None, **more):
        mask = diagonal_mask(mask, positions)
        return super().call(query, key_value, mask, projected, training=training, **more)
