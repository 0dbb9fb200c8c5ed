"""The layers of `tta.modeling` as parts of an ONNX graph.

B batch, T tokens, Q queries, S keys, D hidden size, N heads, H = D / N.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tta.scoring.engines.onnxruntime.graphs.graph import Tensor, softmax
from tta.scoring.engines.onnxruntime.graphs.rounding import rounded_product
from tta.scoring.engines.onnxruntime.graphs.weights import Weights

# Added to the logits of forbidden keys. If the row has an allowed key, their exponentials are
# exactly 0.
FORBIDDEN = -1e30

# That of `tta.modeling.layers.dense`.
CENTRE_STEPS = 128.0


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


def project(stream: Tensor, weights: Weights, config: Any) -> tuple[Tensor, Tensor]:
    """The keys and values of an attention over a stream [B, S, D]: [B, N, S, H] each."""
    num_heads = config.num_attention_heads
    head_size = config.hidden_size // num_heads
    key, value = (
        split_heads(dense(stream, weights.of(name)), num_heads, head_size)
        for name in ("key", "value")
    )
    return key, value


def attention(
    query: Tensor,
    stream: Tensor,
    mask: Tensor,
    weights: Weights,
    config: Any,
    distances: Tensor | None = None,
    projected: Sequence[Tensor] | None = None,
) -> Tensor:
    """Multi-head attention: [B or 1, Q, D] and [B, S, D] -> [B, Q, D].

    `distances` [Q, S] int64 are needed if the config has a `max_relative_distance`. `projected` are
    the keys and values [B, N, S, H]; None makes them from the stream.
    """
    num_heads, size = config.num_attention_heads, config.hidden_size
    query = split_heads(dense(query, weights.of("query")), num_heads, size // num_heads)
    key, value = projected or project(stream, weights, config)
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
    projected: Sequence[Tensor] | None = None,
    is_last: bool = False,
) -> Tensor:
    """H = Norm(Q + Attention(Q, S)), then Norm(H + FFN(H)): [B, Q, D].

    With `norm_first`, H = Q + Attention(Norm(Q), S), then H + FFN(Norm(H)). If `stream` is None,
    S is what the attention's query is. `distances` and `projected` are as in `attention`; `is_last`
    is whether the last LayerNorm is the encoder's.
    """

    def attend(x):
        read = x if stream is None else stream
        here = weights.of("attention")
        return attention(x, read, mask, here, config, distances, projected)

    def feed(x):
        return feed_forward(x, weights.of("feed_forward"), config)

    hidden = query
    for sub_layer, name in (attend, "attention_norm"), (feed, "feed_forward_norm"):
        norm, epsilon = weights.of(name).of("norm"), config.layer_norm_eps
        if config.norm_first:
            hidden = hidden + sub_layer(layer_norm(hidden, norm, epsilon))
        else:
            of_output = is_last and name == "feed_forward_norm"
            normalize = centred_layer_norm if of_output else layer_norm
            hidden = normalize(hidden + sub_layer(hidden), norm, epsilon)
    return hidden


def centred_layer_norm(x: Tensor, weights: Weights, epsilon: float) -> Tensor:
    """LayerNorm, more precise where its normalized values are nearly the same for all inputs.

    `tta.modeling.layers.dense.centred_layer_norm` says how and why. x is [B, T, D].
    """
    gamma, beta = (weights.arrays[weights.prefix + name] for name in ("gamma", "beta"))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.rint(-beta / gamma * CENTRE_STEPS) / CENTRE_STEPS
    if not np.square(mean).mean() < 1.0:
        return layer_norm(x, weights, epsilon)
    normalized, _, scale = x.graph.operators(
        "LayerNormalization",
        *(x, np.ones_like(gamma), np.zeros_like(beta)),
        outputs=3,
        axis=-1,
        epsilon=epsilon,
    )
    u = normalized - mean
    error = (u * (u + 2.0 * mean)).mean(-1, keepdims=True)
    error = error + scale * scale * epsilon - np.mean(1.0 - np.square(mean))
    return (u - error * (0.5 * mean)) * weights["gamma"] + (beta + gamma * mean)


def add_norm(x: Tensor, residual: Tensor, weights: Weights, config: Any) -> Tensor:
    """LayerNorm(residual + x)."""
    return layer_norm(residual + x, weights.of("norm"), config.layer_norm_eps)
