"""Embeddings, attention, feed-forward layers and blocks, as functions over a kit.

`k` is a kit, see `tta.modeling.functions.kit`; `w` has the weights of the layer by their names.
A function that needs another layer asks the kit to run it (`Kit.part`), so that Keras calls the
layer itself.

B batch, T tokens, Q queries, S keys, D hidden size, N heads, H = D / N.
"""

from collections.abc import Sequence
from functools import partial
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


def run_embed(k: Kit, w: Weights, config, ids: Array, **options: Any):
    """Runs `embed` as a part; `options` are its optional inputs."""
    return k.part(w, partial(embed, k, w, config), ids, **options)


def run_first_query(k: Kit, w: Weights, config, ids: Array, added: Array | None = None):
    """Runs `first_query` as a part, a second use of the layer that embeds."""
    compute = partial(first_query, k, w, config.first_query_token_id)
    return k.part(
        w, lambda ids, added, **_: compute(ids, added), ids, added=added, first_query=True
    )


def dense(k: Kit, w: Weights, x: Array, size: int | None = None):
    """x kernel + bias: [B, T, ...] -> [B, T, outputs]; the axes after T are the inputs.

    `size` is the number of inputs, and of outputs. None reads both from the kernel.
    """
    inputs, outputs = w.shape("kernel") if size is None else (size, size)
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


def project_together(k: Kit, blocks: Sequence[Weights], stream: Array, num_heads: int):
    """The (key, value) of the attention of each block over one stream.

    None for each, if the kit lets attentions make their own.
    """
    if not k.projects_together:
        return [None] * len(blocks)
    attentions = [w.of("attention") for w in blocks]
    layers = [w.of(name) for w in attentions for name in ("key", "value")]
    heads = k.heads(stream, layers, num_heads)
    return list(zip(heads[::2], heads[1::2], strict=True))


def attention(
    k: Kit,
    w: Weights,
    query: Array,
    stream: Array,
    mask: Array,
    num_heads: int,
    projected: Sequence[Any] | None = None,
    distances: Array | None = None,
    shared: Sequence[Array] | None = None,
):
    """Multi-head attention with BERT's four projections: [B or 1, Q, D] -> [B, Q, D].

    `projected` is the (key, value) of `project`; None makes it from the stream [B, S, D].
    `distances` [Q, S], of the key from the query, choose learned numbers that are added to the
    logits; None adds none. With `shared`, the (index, tokens) of a `Distinct`, query and stream are
    distinct states [1, U, D], and so is the result.
    """
    distinct, size = Distinct(k, shared), k.width(query, w.of("query"))
    (query,) = k.heads(query, [w.of("query")], num_heads)
    key, value = project(k, w, stream, num_heads) if projected is None else projected
    query, key, value = map(distinct.spread_heads, (query, key, value))
    bias = None
    if distances is not None:
        largest = w.shape("relative_bias")[1] // 2
        bias = k.columns(w["relative_bias"], k.clip(distances, -largest, largest) + largest)
    weights = attention_weights(k, query, key, mask, head_size=size // num_heads, bias=bias)
    if k.attention_scores is not None:
        k.attention_scores.append(weights)
    attended = k.dropout(k.compute(weights, w), w) @ value  # [B, N, Q, H]
    attended = distinct.of(k.transpose(attended, (0, 2, 1, 3)), size)
    return dense(k, w.of("output"), attended, size)


def feed_forward(k: Kit, w: Weights, x: Array, hidden_act: str):
    """Two dense layers with an activation between them: [B, T, D] -> [B, T, D]."""
    size = k.width(x, w.of("intermediate"))
    inner = k.activation(k.dense(k.flat(x, size), w.of("intermediate")), hidden_act)
    return k.unflat(k.dense(inner, w.of("output")), x, size)


def block(
    k: Kit,
    w: Weights,
    config,
    query: Array,
    stream: Array | None,
    mask: Array,
    is_last: bool = False,
    distances: Array | None = None,
    **options: Any,
):
    """H = Norm(Q + Attention(Q, S)), then Norm(H + FFN(H)): [B, Q, D] (paper, equation 1).

    With `norm_first`, H = Q + Attention(Norm(Q), S), then H + FFN(Norm(H)). If `stream` is None,
    S is what the attention's query is. `mask`, `distances` and `options` are inputs of `attention`;
    `is_last` is whether the last LayerNorm is the encoder's.
    """
    attention_w, feed_forward_w = w.of("attention"), w.of("feed_forward")
    attend = partial(attention, k, attention_w, num_heads=config.num_attention_heads)
    feed = partial(feed_forward, k, feed_forward_w, hidden_act=config.hidden_act)
    if config.max_relative_distance:
        options["distances"] = distances

    def attended(x: Array):
        read = x if stream is None else stream
        return k.part(attention_w, attend, x, read, mask=mask, **options)

    def fed(x: Array):
        return k.part(feed_forward_w, feed, x)

    hidden = query
    for sub_layer, end in (attended, w.of("attention_norm")), (fed, w.of("feed_forward_norm")):
        if config.norm_first:
            change = sub_layer(run_add_norm(k, end, hidden))
            hidden = hidden + k.dropout(k.float32(change), end)
        else:
            magnifies = is_last and sub_layer is fed
            hidden = run_add_norm(k, end, sub_layer(hidden), hidden, magnifies)
    return hidden


def run_block(
    k: Kit,
    w: Weights,
    config,
    query: Array,
    stream: Array | None,
    mask: Array,
    is_last: bool = False,
    **options: Any,
):
    """Runs `block` as a part; `options` are optional inputs of `attention`."""
    compute = partial(block, k, w, config, is_last=is_last)
    return k.part(w, compute, query, stream, mask=mask, **options)


def add_norm(k: Kit, w: Weights, x: Array, residual: Array | None = None, magnifies: bool = False):
    """LayerNorm(residual + Dropout(x)): [B, T, D] float32; the residual is [B or 1, T, D].

    Without a residual, it is LayerNorm(x). Sums and outputs are float32 even if products are
    bfloat16. Rounding them too would cause most of a score's error
    (docs/experiments/performance.md). `magnifies` is whether the LayerNorm may magnify small
    differences between its inputs.
    """
    if residual is None:
        return k.layer_norm(w.of("norm"), x, magnifies=magnifies)
    change = k.dropout(k.float32(x), w)
    return k.layer_norm(w.of("norm"), residual, change, magnifies=magnifies)


def run_add_norm(
    k: Kit, w: Weights, x: Array, residual: Array | None = None, magnifies: bool = False
):
    """Runs `add_norm` as a part."""
    return k.part(w, partial(add_norm, k, w, magnifies=magnifies), x, residual=residual)
