"""DMSA, SMSAN and their parts as Keras layers, for models of your own.

The models here call the same functions without them: `functions/encoders.py`, whose attention masks
are in `functions/masks.py`.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.config.weights import attention
from tta.modeling.functions import layers, masks
from tta.modeling.functions.layers import block
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Shape
from tta.modeling.layers.base import ConfiguredLayer, PlainLayer


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
        attention_mask: [B, T or 1, S] bool, True = may attend.
        projected: a (key, value) pair [B, N, S, H] to attend to; None makes it from `key_value`.
        distances: [T, S] int32, position of the key minus position of the query; needed if K > 0.

    Returns:
        [B, T, D]. A query without any allowed key gets only the bias of the output projection.
    """

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

    def build(self, input_shape: Shape):
        size = input_shape[-1]
        if size % self.num_heads:
            raise ValueError(f"hidden size {size} is not a multiple of num_heads {self.num_heads}")
        relative = self.initializer_range, self.max_relative_distance
        self.add_weights(attention(size, self.num_heads, *relative, self.dropout))

    def call(self, query, key_value, attention_mask, projected=None, distances=None, training=None):
        given = query, key_value, attention_mask, self.num_heads, projected
        if not self.max_relative_distance:
            distances = None
        elif distances is None:
            raise ValueError("an attention with max_relative_distance needs distances")
        return layers.attention(KerasKit(training), self, *given, distances)


@keras.saving.register_keras_serializable("tta")
class DiagonalMaskedSelfAttention(MaskedAttention):
    """DMSA: attention in which no position sees itself (paper, section 4.2.1 and equation 2).

    Arguments and shapes as in `MaskedAttention`, with two differences in the call. `padding_mask`
    replaces `attention_mask`: [B, S] bool, or [B, S, S] bool to forbid more pairs than padding
    does. The diagonal is always forbidden. The queries are all positions of the sentence (T = S),
    or only those at `positions` [T] int32.
    """

    def call(
        self, query, key_value, padding_mask, projected=None, positions=None, training=None, **more
    ):
        mask = diagonal_mask(padding_mask, positions)
        return super().call(query, key_value, mask, projected, training=training, **more)


def diagonal_mask(mask: Any, positions: Any = None) -> Any:
    """The mask of a DMSA: [B, T (query), S (key)] bool; arguments as those of its call."""
    queries = ops.arange(ops.shape(mask)[-1]) if positions is None else positions
    if len(mask.shape) == 2:
        return masks.others(KerasKit(), mask, queries)
    pairs = mask if positions is None else ops.take(mask, positions, axis=1)
    return masks.not_self(KerasKit(), queries, ops.shape(mask)[-1]) & pairs


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
