"""Embeddings, attention, feed-forward layers and blocks, as functions over a kit.

`k` is a kit, see `tta.modeling.functions.kit`; `w` has the weights of the layer by their names.
B batch, T tokens, Q queries, S keys, D hidden size, N heads, H = D / N.
"""

from collections.abc import Callable, Sequence
from typing import Any

from tta.modeling.functions.kit import Array, Kit, Weights
from tta.modeling.functions.queries import Distinct

# The logit of a forbidden key. If the row has an allowed key, its exponential is exactly 0.
FORBIDDEN = -1e30


def embed(
    k: Kit,
    w: Weights,
    config,
    ids: Array,
    segment_ids: Array | None = None,
    added: Array | None = None,
    positions: Array | None = None,
):
    """Dropout(LayerNorm(token + position)), with a BERT's segments: [B, T, D].

    `added` [B, 1, D] is part of the sum; `positions` [T] are those of the tokens, from 0 if None.
    """
    table = w["position_table"]
    rows = k.first(table, k.size(ids, 1)) if positions is None else k.take(table, positions)
    total = k.take(w["token_table"], ids) + rows
    if config.num_segments:  # a single text is segment 0
        segments = w["segment_table"]
        total = total + (segments[:1] if segment_ids is None else k.take(segments, segment_ids))
    if added is not None:
        total = total + k.float32(added)
    return k.dropout(k.layer_norm(w.of("norm"), total), w)


def first_query(k: Kit, w: Weights, token_id: int | None, ids: Array, added: Array | None = None):
    """The query of T-TA's first layer: [1, T, D], the same for every sentence.

    LayerNorm(position), or of position + a token, which the original code adds. With `added`
    [B, 1, D], which is part of the sum, it is [B, T, D].
    """
    query = k.first(w["position_table"], k.size(ids, 1))[None]
    if token_id is not None:
        query = query + w["token_table"][token_id : token_id + 1]
    if added is not None:
        query = query + k.float32(added)
    return k.dropout(k.layer_norm(w.of("norm"), query), w)


def dense(k: Kit, w: Weights, x: Array):
    """x kernel + bias: [B, T, ...] -> [B, T, outputs]; the axes after T are the inputs."""
    inputs, outputs = w.shape("kernel")
    return k.unflat(k.dense(k.flat(x, inputs), w), x, outputs)


def masked_softmax(k: Kit, logits: Array, mask: Array):
    """The softmax over the allowed keys: [B, N, Q, S] float32; zeros if none is allowed.

    `mask` is [B or 1, Q or 1, S] bool, True = may attend. In the original code, which adds -10000
    to forbidden logits, a query without any allowed key falls back to plain attention and sees
    itself.
    """
    mask = mask[:, None]
    logits = k.where(mask, k.float32(logits), FORBIDDEN)
    return k.softmax(logits) * k.float32(k.any(mask, -1, keepdims=True))


def attention_weights(
    k: Kit, query: Array, key: Array, mask: Array, head_size: int, bias: Array | None = None
):
    """softmax(Q K^T / sqrt(H)) under a mask: [B, N, Q, S] float32 (paper, equation 2).

    `query` is [B or 1, N, Q, H], `key` [B, N, S, H]; `bias` [N, Q, S] is added to the logits.
    """
    logits = (query * head_size**-0.5) @ k.transpose(key, (0, 1, 3, 2))
    return masked_softmax(k, logits if bias is None else k.float32(logits) + bias, mask)


def project(k: Kit, w: Weights, stream: Array, num_heads: int):
    """The (key, value) of an attention over a stream [B, S, D]: [B, N, S, H] each."""
    return k.heads(stream, [w.of("key"), w.of("value")], num_heads)


def project_together(k: Kit, layers: Sequence[Weights], stream: Array, num_heads: int):
    """The (key, value) of several attentions over one stream, from one product if it saves time."""
    found = k.heads(stream, [w.of(name) for w in layers for name in ("key", "value")], num_heads)
    return list(zip(found[::2], found[1::2], strict=True))


def attention(
    k: Kit,
    w: Weights,
    query: Array,
    stream: Array,
    mask: Array,
    num_heads: int,
    projected: Sequence[Any] | None = None,
    distances: Array | None = None,
    distinct: Distinct | None = None,
    keep: Callable[..., Any] | None = None,
):
    """Multi-head attention with BERT's four projections: [B or 1, Q, D] -> [B, Q, D].

    `projected` is the (key, value) of `project`; None makes it from the stream [B, S, D].
    `distances` [Q, S], of the key from the query, choose learned numbers that are added to the
    logits; None adds none. With a `Distinct`, query and stream are distinct states [1, U, D], and
    so is the result. `keep` is called with the weights [B, N, Q, S].
    """
    distinct = distinct or Distinct(k)
    (query,) = k.heads(query, [w.of("query")], num_heads)
    key, value = project(k, w, stream, num_heads) if projected is None else projected
    query, key, value = map(distinct.spread_heads, (query, key, value))
    bias = None
    if distances is not None:
        largest = w.shape("relative_bias")[1] // 2
        bias = k.columns(w["relative_bias"], k.clip(distances, -largest, largest) + largest)
    head_size = w.of("query").shape("kernel")[1] // num_heads
    weights = attention_weights(k, query, key, mask, head_size, bias)
    if keep is not None:
        keep(weights)
    attended = k.dropout(k.compute(weights, w), w) @ value  # [B, N, Q, H]
    attended = distinct.of(k.transpose(attended, (0, 2, 1, 3)), w.of("output").shape("kernel")[0])
    return dense(k, w.of("output"), attended)


def feed_forward(k: Kit, w: Weights, x: Array, hidden_act: str):
    """Two dense layers with an activation between them: [B, T, D] -> [B, T, D]."""
    size, _ = w.of("intermediate").shape("kernel")
    inner = k.activation(k.dense(k.flat(x, size), w.of("intermediate")), hidden_act)
    return k.unflat(k.dense(inner, w.of("output")), x, size)


def block(
    k: Kit,
    w: Weights,
    config,
    query: Array,
    mask: Array,
    stream: Array | None = None,
    projected: Sequence[Any] | None = None,
    distances: Array | None = None,
    distinct: Distinct | None = None,
    is_last: bool = False,
    keep: Callable[..., Any] | None = None,
):
    """H = Norm(Q + Attention(Q, S)), then Norm(H + FFN(H)): [B, Q, D] (paper, equation 1).

    With `norm_first`, H = Q + Attention(Norm(Q), S), then H + FFN(Norm(H)). If `stream` is None,
    S is what the attention's query is. `mask`, `projected`, `distances`, `distinct` and `keep` are
    as in `attention`; `is_last` is whether the last LayerNorm is the encoder's.
    """
    if not config.max_relative_distance:
        distances = None

    def attend(x: Array):
        read, heads = x if stream is None else stream, config.num_attention_heads
        given = read, mask, heads, projected, distances, distinct, keep
        return attention(k, w.of("attention"), x, *given)

    def feed(x: Array):
        return feed_forward(k, w.of("feed_forward"), x, config.hidden_act)

    hidden = query
    for sub_layer, end in (attend, w.of("attention_norm")), (feed, w.of("feed_forward_norm")):
        if config.norm_first:
            made = sub_layer(k.layer_norm(end.of("norm"), hidden))
            hidden = hidden + k.dropout(k.float32(made), end)
        else:
            magnifies = is_last and sub_layer is feed
            hidden = add_norm(k, end, sub_layer(hidden), hidden, magnifies)
    return hidden


def add_norm(k: Kit, w: Weights, x: Array, residual: Array, magnifies: bool = False):
    """LayerNorm(residual + Dropout(x)): [B, T, D] float32; the residual is [B or 1, T, D].

    Sums and outputs are float32 even if products are bfloat16. Rounding them too would cause most
    of a score's error (docs/experiments/performance.md). `magnifies` is whether the LayerNorm may
    magnify small differences between its inputs.
    """
    made = k.dropout(k.float32(x), w)
    return k.layer_norm(w.of("norm"), residual, made, magnifies=magnifies)
