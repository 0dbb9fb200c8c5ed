"""Multi-head attention under a mask that holds exactly, and T-TA's diagonal-masked form of it."""

import keras
from keras import ops

from tta.modeling.layers.dense import dense
from tta.modeling.layers.masks import diagonal_mask

# The logit of every forbidden key. Next to any allowed key its exponential is exactly 0; rows
# without an allowed key are zeroed apart (see `masked_softmax`).
FORBIDDEN = -1e30


def masked_softmax(logits, attention_mask):
    """Softmax over the keys a query may attend to; all zero where there are none.

    The original code adds -10000 to forbidden logits, so that a query with no key left falls
    back to plain attention and sees itself. Here its weights are zero.

    Args:
        logits: [B, N, T (query), S (key)] of any float type.
        attention_mask: [B, T or 1, S] bool, True = may attend.

    Returns:
        [B, N, T, S] float32; rows sum to 1, or to 0 where nothing may be attended to.
    """
    mask = attention_mask[:, None]  # [B, 1, T, S]
    logits = ops.where(mask, ops.cast(logits, "float32"), FORBIDDEN)
    anything = ops.cast(ops.any(mask, axis=-1, keepdims=True), "float32")
    if logits.shape[-1] == 1:  # Its softmax is 1, and Keras warns of it.
        return ops.ones_like(logits) * anything
    return ops.softmax(logits, axis=-1) * anything


def split_heads(x, num_heads):
    """[B, T, D] -> [B, N, T, H], with D = N * H."""
    length, size = ops.shape(x)[1], x.shape[-1]
    x = ops.reshape(x, (-1, length, num_heads, size // num_heads))  # [B, T, N, H]
    return ops.transpose(x, (0, 2, 1, 3))


def merge_heads(x):
    """[B, N, T, H] -> [B, T, D]."""
    _, num_heads, _, head_size = x.shape
    length = ops.shape(x)[2]
    x = ops.transpose(x, (0, 2, 1, 3))  # [B, T, N, H]
    return ops.reshape(x, (-1, length, num_heads * head_size))


def project_together(key_value, attentions):
    """Keys and values of several attentions over one and the same stream, in one product.

    Args:
        key_value: [B, S, D].
        attentions: L `MaskedAttention`s of N heads.

    Returns:
        L pairs (key, value), each [B, N, S, H].
    """
    layers = [layer for a in attentions for layer in (a.key_dense, a.value_dense)]
    kernel = ops.concatenate([layer.kernel for layer in layers], axis=1)  # [D, 2L * D]
    bias = ops.concatenate([layer.bias for layer in layers])
    length, size = ops.shape(key_value)[1], key_value.shape[-1]
    num_heads = attentions[0].num_heads
    x = ops.matmul(ops.reshape(key_value, (-1, size)), kernel) + bias
    x = ops.reshape(x, (-1, length, len(layers), num_heads, size // num_heads))
    x = ops.unstack(ops.transpose(x, (2, 0, 3, 1, 4)), len(layers))  # 2L times [B, N, S, H]
    return list(zip(x[::2], x[1::2], strict=True))


def attention_weights(query, key, attention_mask):
    """softmax(Q K^T / sqrt(H)) under a mask (paper, equation 4).

    Args:
        query: [B, N, T, H]; B may be 1 where all sentences ask the same.
        key: [B, N, S, H].
        attention_mask: [B, T or 1, S] bool.

    Returns:
        [B, N, T, S] float32.
    """
    scale = query.shape[-1] ** -0.5
    logits = ops.matmul(query * scale, ops.transpose(key, (0, 1, 3, 2)))  # [B, N, T, S]
    return masked_softmax(logits, attention_mask)


@keras.saving.register_keras_serializable("tta")
class MaskedAttention(keras.layers.Layer):
    """Multi-head attention of one stream over another, with BERT's four projections.

    B batch, T queries, S keys, D hidden size, N heads.

    Args:
        num_heads: N; divides D.
        dropout: share of attention weights dropped in training.
        initializer_range: standard deviation of the kernels at the start.

    Call:
        query: [B, T, D]; B may be 1 (broadcast).
        key_value: [B, S, D].
        attention_mask: [B, T or 1, S] bool, True = may attend.
        projected: None, or the pair that `project_together` made of key_value for this attention.

    Returns:
        [B, T, D]: zero attention, hence the output projection's bias alone, where a query has
        nothing to attend to.
    """

    def __init__(self, num_heads, dropout=0.0, initializer_range=0.02, **kwargs):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.dropout = dropout
        self.initializer_range = initializer_range

    def build(self, query_shape, key_value_shape=None, attention_mask_shape=None):
        size = query_shape[-1]
        if size % self.num_heads:
            raise ValueError(f"hidden size {size} is no multiple of num_heads {self.num_heads}")
        for name in ("query", "key", "value", "output"):
            layer = dense(size, self.initializer_range, name=name, dtype=self.dtype_policy)
            layer.build((None, None, size))
            setattr(self, f"{name}_dense", layer)
        self.weights_dropout = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy)

    def call(self, query, key_value, attention_mask, projected=None, training=None):
        query = split_heads(self.query_dense(query), self.num_heads)  # [B or 1, N, T, H]
        if projected is None:
            projected = (
                split_heads(layer(key_value), self.num_heads)
                for layer in (self.key_dense, self.value_dense)
            )
        key, value = projected  # [B, N, S, H] each
        weights = ops.cast(attention_weights(query, key, attention_mask), self.compute_dtype)
        weights = self.weights_dropout(weights, training=training)
        return self.output_dense(merge_heads(ops.matmul(weights, value)))

    def compute_output_shape(self, query_shape, key_value_shape, attention_mask_shape=None):
        return (key_value_shape[0], *query_shape[1:])

    def get_config(self):
        return super().get_config() | {
            "num_heads": self.num_heads,
            "dropout": self.dropout,
            "initializer_range": self.initializer_range,
        }


@keras.saving.register_keras_serializable("tta")
class DiagonalMaskedSelfAttention(MaskedAttention):
    """DMSA: attention in which no position sees itself (paper, section 3.2).

    Arguments and shapes as `MaskedAttention`, but it is called with `padding_mask` [B, S] bool
    and makes the mask itself; keys are the positions of one sentence, and so are the queries: all
    of them (T = S), or those at `positions` [T] int32. In the padding mask's place [B, S, S] may
    forbid more pairs than padding does; the diagonal is forbidden either way.
    """

    def build(self, query_shape, key_value_shape=None, padding_mask_shape=None):
        super().build(query_shape, key_value_shape)

    def call(self, query, key_value, padding_mask, projected=None, positions=None, training=None):
        mask = diagonal_mask(padding_mask, positions)
        return super().call(query, key_value, mask, projected, training=training)

    def compute_output_shape(self, query_shape, key_value_shape, padding_mask_shape=None):
        return (key_value_shape[0], *query_shape[1:])
