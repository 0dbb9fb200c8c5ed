"""The layers of `tta.modeling` as parts of an ONNX graph.

B batch, T tokens, Q queries, S keys, D hidden size, N heads, H = D / N.
"""

from typing import Any

import numpy as np

from tta.scoring.engines.onnxruntime.graph import Tensor, softmax
from tta.scoring.engines.onnxruntime.rounding import rounded_product
from tta.scoring.engines.onnxruntime.weights import Weights

# Added to the logits of forbidden keys. If the row has an allowed key, their exponentials are
# exactly 0.
FORBIDDEN = -1e30


def dense(x: Tensor, weights: Weights) -> Tensor:
    """x kernel + bias: [B, T, inputs] -> [B, T, outputs]."""
    inputs, outputs = weights.shape("kernel")
    rows = dense_rows(x.reshape(-1, inputs), weights)
    return rows.reshape(x.size(0), x.size(1), outputs)


def dense_rows(x: Tensor, weights: Weights) -> Tensor:
    """As `dense`, of rows, for which product and bias are one operation: [M, inputs]."""
    if weights.are_rounded:
        name = f"{weights.prefix}kernel"
        return rounded_product(x, name, weights.arrays[name], weights["bias"])
    return x.graph.operator("Gemm", x, weights["kernel"], weights["bias"])


def layer_norm(x: Tensor, weights: Weights, epsilon: float) -> Tensor:
    """LayerNorm over the last axis."""
    gamma, beta = weights["gamma"], weights["beta"]
    return x.graph.operator("LayerNormalization", x, gamma, beta, axis=-1, epsilon=epsilon)


def activation(name: str, x: Tensor) -> Tensor:
    """The function that `config.hidden_act` names."""
    if name == "relu":
        return x.graph.operator("Relu", x)
    kinds = {"gelu": "none", "gelu_tanh": "tanh"}  # exact, by the error function; approximate
    return x.graph.operator("Gelu", x, approximate=kinds[name])


def feed_forward(x: Tensor, weights: Weights, config: Any) -> Tensor:
    """Two dense layers with an activation between them: [B, T, D] -> [B, T, D]."""
    inner = activation(config.hidden_act, dense(x, weights.of("intermediate")))
    return dense(inner, weights.of("output"))


def split_heads(x: Tensor, num_heads: int, head_size: int) -> Tensor:
    """[B, T, D] -> [B, N, T, H]."""
    return x.reshape(0, 0, num_heads, head_size).transpose(0, 2, 1, 3)


def merge_heads(x: Tensor, size: int) -> Tensor:
    """[B, N, T, H] -> [B, T, D]."""
    return x.transpose(0, 2, 1, 3).reshape(0, 0, size)


def masked_softmax(logits: Tensor, mask: Tensor) -> Tensor:
    """The softmax over the allowed keys; zeros if none is allowed: [B, N, Q, S].

    `mask` is [B or 1, Q or 1, S] bool, True = may attend.
    """
    mask = mask.expand(1)  # [B, 1, Q, S]
    forbidden = (~mask).cast(np.float32) * FORBIDDEN
    return softmax(logits + forbidden) * mask.any(-1, keepdims=True).cast(np.float32)


def attention(
    query: Tensor,
    stream: Tensor,
    mask: Tensor,
    weights: Weights,
    config: Any,
    distances: Tensor | None = None,
) -> Tensor:
    """Multi-head attention: [B or 1, Q, D] and [B, S, D] -> [B, Q, D].

    `distances` [Q, S] int64 are needed if the config has a `max_relative_distance`.
    """
    num_heads, size = config.num_attention_heads, config.hidden_size
    query, key, value = (
        split_heads(dense(x, weights.of(name)), num_heads, size // num_heads)
        for x, name in ((query, "query"), (stream, "key"), (stream, "value"))
    )
    logits = (query * (size // num_heads) ** -0.5) @ key.transpose(0, 1, 3, 2)
    if (largest := config.max_relative_distance) and distances is not None:
        near = distances.clip(-largest, largest) + np.int64(largest)
        logits = logits + weights["relative_bias"].take(near, axis=1)
    attended = masked_softmax(logits, mask) @ value  # [B, N, Q, H]
    return dense(merge_heads(attended, size), weights.of("output"))


def block(
    query: Tensor,
    stream: Tensor | None,
    mask: Tensor,
    weights: Weights,
    config: Any,
    distances: Tensor | None = None,
) -> Tensor:
    """H = Norm(Q + Attention(Q, S)), then Norm(H + FFN(H)): [B, Q, D].

    With `norm_first`, H = Q + Attention(Norm(Q), S), then H + FFN(Norm(H)). If `stream` is None,
    S is what the attention's query is.
    """

    def attend(x):
        read = x if stream is None else stream
        return attention(x, read, mask, weights.of("attention"), config, distances)

    def feed(x):
        return feed_forward(x, weights.of("feed_forward"), config)

    hidden = query
    for sub_layer, name in (attend, "attention_norm"), (feed, "feed_forward_norm"):
        norm = weights.of(name).of("norm")
        if config.norm_first:
            made = sub_layer(layer_norm(hidden, norm, config.layer_norm_eps))
            hidden = hidden + made
        else:
            hidden = layer_norm(hidden + sub_layer(hidden), norm, config.layer_norm_eps)
    return hidden


def add_norm(x: Tensor, residual: Tensor, weights: Weights, config: Any) -> Tensor:
    """LayerNorm(residual + x)."""
    return layer_norm(residual + x, weights.of("norm"), config.layer_norm_eps)
