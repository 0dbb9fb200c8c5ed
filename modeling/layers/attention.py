"""Multi-head attention with exact masks, and the diagonal-masked attention of T-TA."""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from tta.modeling.config.weights import attention
from tta.modeling.layers.base import PlainLayer
from tta.modeling.layers.masks import diagonal_mask
from tta.modeling.layers.one_pass import trained_bias
from tta.modeling.layers.types import Shape, Tensor

# The logit of every forbidden key. If the row has an allowed key, the exponential of this logit is
# exactly 0. Rows without an allowed key are set to 0 separately (see `masked_softmax`).
FORBIDDEN = -1e30


def masked_softmax(logits: Tensor, attention_mask: Tensor) -> Any:
    """Softmax over the keys that a query may attend to: [B, N, T, S] float32.

    Each row sums to 1, or to 0 if no key is allowed. In the original code, which adds -10000 to
    forbidden logits, a query without any allowed key falls back to plain attention and sees itself.

    Args:
        logits: [B, N, T (query), S (key)] of any float type.
        attention_mask: [B, T or 1, S] bool, True = may attend.
    """
    mask = attention_mask[:, None]  # [B, 1, T, S]
    logits = ops.where(mask, ops.cast(logits, "float32"), FORBIDDEN)
    anything = ops.cast(ops.any(mask, axis=-1, keepdims=True), "float32")
    if logits.shape[-1] == 1:  # Keras warns about a softmax over one value, which is 1.
        return ops.ones_like(logits) * anything
    return ops.softmax(logits, axis=-1) * anything


def split_heads(x: Tensor, num_heads: int) -> Any:
    """[B, T, D] -> [B, N, T, H], with D = N * H."""
    length, size = ops.shape(x)[1], x.shape[-1]
    x = ops.reshape(x, (-1, length, num_heads, size // num_heads))  # [B, T, N, H]
    return ops.transpose(x, (0, 2, 1, 3))


def merge_heads(x: Tensor) -> Any:
    """[B, N, T, H] -> [B, T, D]."""
    _, num_heads, _, head_size = x.shape
    length = ops.shape(x)[2]
    x = ops.transpose(x, (0, 2, 1, 3))  # [B, T, N, H]
    return ops.reshape(x, (-1, length, num_heads * head_size))


def project_together(
    key_value: Tensor, attentions: Sequence["MaskedAttention"], training: bool | None = False
) -> list[tuple]:
    """Computes keys and values of several attentions over the same stream in one product.

    Takes `key_value` [B, S, D] and L layers of N heads; returns L pairs (key, value) [B, N, S, H].
    """
    layers = [layer for a in attentions for layer in (a.key_dense, a.value_dense)]
    kernel = ops.concatenate([layer.kernel for layer in layers], axis=1)  # [D, 2L * D]
    bias = ops.concatenate([layer.bias for layer in layers])
    length, size = ops.shape(key_value)[1], key_value.shape[-1]
    num_heads = attentions[0].num_heads
    x = ops.matmul(ops.cast(ops.reshape(key_value, (-1, size)), kernel.dtype), kernel)
    x = trained_bias(x, bias) if training else x + bias
    x = ops.reshape(x, (-1, length, len(layers), num_heads, size // num_heads))
    x = ops.unstack(ops.transpose(x, (2, 0, 3, 1, 4)), len(layers))  # 2L times [B, N, S, H]
    return list(zip(x[::2], x[1::2], strict=True))


def attention_weights(
    query: Tensor, key: Tensor, attention_mask: Tensor, relative_logits: Tensor | None = None
) -> Any:
    """softmax(Q K^T / sqrt(H)) under a mask: [B, N, T, S] float32 (paper, equation 2).

    Args:
        query: [B, N, T, H]; B may be 1 if all sentences share the query.
        key: [B, N, S, H].
        attention_mask: [B, T or 1, S] bool.
        relative_logits: [N, T, S] float32, added to the logits; None adds nothing.
    """
    scale = query.shape[-1] ** -0.5
    logits = ops.matmul(query * scale, ops.transpose(key, (0, 1, 3, 2)))  # [B, N, T, S]
    if relative_logits is not None:
        logits = ops.cast(logits, "float32") + relative_logits
    return masked_softmax(logits, attention_mask)


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
        distances: [T, S] int32, position of the key minus position of the query; needed if K > 0.
        projected: the (key, value) pair from `project` or `project_together`; None computes it
            here.

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
        self.add_weights(attention(size, self.num_heads, *relative))
        self.weights_dropout = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)

    def call(
        self,
        query,
        key_value,
        attention_mask,
        projected=None,
        distances=None,
        training=None,
    ):
        query = split_heads(self.query_dense(query), self.num_heads)  # [B or 1, N, T, H]
        key, value = self.project(key_value) if projected is None else projected
        relative = self._relative_logits(distances) if self.max_relative_distance else None
        weights = attention_weights(query, key, attention_mask, relative)
        weights = ops.cast(weights, self.compute_dtype)
        weights = self.weights_dropout(weights, training=training)
        return self.output_dense(merge_heads(ops.matmul(weights, value)))

    def project(self, key_value: Tensor) -> tuple[Any, Any]:
        """The keys and values of a stream [B, S, D]: [B, N, S, H] each."""
        layers = (self.key_dense, self.value_dense)
        key, value = (split_heads(layer(key_value), self.num_heads) for layer in layers)
        return key, value

    def _relative_logits(self, distances):
        """[N, T, S] float32. A product, because the gradient of a lookup takes longer."""
        size = self.max_relative_distance
        near = ops.clip(distances, -size, size) + size
        of_pairs = ops.one_hot(near, 2 * size + 1) @ ops.transpose(self.relative_bias)
        return ops.transpose(of_pairs, (2, 0, 1))


@keras.saving.register_keras_serializable("tta")
class DiagonalMaskedSelfAttention(MaskedAttention):
    """DMSA: attention in which no position sees itself (paper, section 4.2.1 and equation 2).

    Arguments and shapes as in `MaskedAttention`, with two differences in the call. `padding_mask`
    replaces `attention_mask`: [B, S] bool, or [B, S, S] bool to forbid more pairs than padding
    does. The diagonal is always forbidden. The queries are all positions of the sentence (T = S),
    or only those at `positions` [T] int32.
    """

    def call(
        self,
        query,
        key_value,
        padding_mask,
        projected=None,
        positions=None,
        training=None,
        **more,
    ):
        mask = diagonal_mask(padding_mask, positions)
        return super().call(query, key_value, mask, projected, training=training, **more)
