"""The encoders, one function per family of models.

Each takes a kit `k`, the weights `w` of the encoder, the model's config, ids [B, T] int32 and
`is_real` [B, T] bool, True at real tokens; the inputs that it has besides are keywords. It returns
{"hidden_states": [B, T, D], "embedding_output": [B, T, D]}, float32.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tta.modeling.functions.kit import Array, Kit, Weights
from tta.modeling.functions.layers import (
    dense,
    project,
    project_together,
    run_add_norm,
    run_block,
    run_embed,
    run_first_query,
)
from tta.modeling.functions.masks import (
    everything,
    from_on,
    last_hidden,
    others,
    tokens,
    two_sided,
    up_to,
    without_later_pieces,
)
from tta.modeling.functions.queries import Distinct, Queries


def optional_inputs(encode: Callable[..., Any]) -> tuple[str, ...]:
    """The inputs of an encoder besides ids and padding mask, which change its result."""
    parameters = inspect.signature(encode).parameters.values()
    return tuple(
        parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY
    )


def encode_tta(
    k: Kit,
    w: Weights,
    config,
    ids: Array,
    is_real: Array,
    *,
    word_ids: Array | None = None,
    wanted: Array | None = None,
    added: Array | None = None,
):
    """T-TA (paper, section 4.2): row i of the states does not depend on token i, bit for bit.

    Every position is computed from all the others, in one pass. Only the query changes from layer
    to layer. Keys and values come from one stream in all layers, so a token hidden in one layer
    stays hidden.

    Args:
        k, w, config, ids, is_real: as in `tta.modeling.functions.encoders`.
        word_ids: as in `in_word`. Row i is then independent of the later pieces of its word
            too (within-word left-to-right).
        wanted: [B, T] bool, the tokens whose hidden states are needed. No token attends to another
            token's query, so positions that no sentence needs are not computed; their rows are 0.
        added: [B, 1, D], the same at every token: added to key/value and to the first query before
            their LayerNorm, and to the query of every later layer.
    """
    embeddings, queries = w.of("embeddings"), Queries(k, ids, wanted)
    stream = run_embed(k, embeddings, config, ids, added=added)
    query = queries.of(run_first_query(k, embeddings, config, ids, added))
    mask = others(k, is_real, queries.positions)
    if word_ids is not None:
        mask = without_later_pieces(k, mask, word_ids, queries.positions)
    near = None
    if config.max_relative_distance:
        near = tokens(k, ids)[None] - queries.positions[:, None]
    blocks = [w.of(f"layer_{i}") for i in range(config.num_hidden_layers)]
    projections = project_together(k, blocks, stream, config.num_attention_heads)
    for i, (layer, projected) in enumerate(zip(blocks, projections, strict=True)):
        if i and added is not None:
            query = query + k.float32(added)
        options = {"projected": projected, "distances": near, "is_last": i == len(blocks) - 1}
        query = run_block(k, layer, config, query, stream, mask=mask, **options)
    return {"hidden_states": queries.spread(query), "embedding_output": stream}


def encode_cloze(
    k: Kit,
    w: Weights,
    config,
    ids: Array,
    is_real: Array,
    *,
    word_ids: Array | None = None,
    wanted: Array | None = None,
    forward: Sequence[Array] | None = None,
    backward: Sequence[Array] | None = None,
):
    """Two towers and a query (Baevski et al. 2019, "Cloze-driven Pretraining", section 3).

    A forward tower f reads the sentence from left to right, a backward tower b from right to left.
    The query of token i starts from the forward state before the token and the backward state after
    it, and attends to all forward states before and all backward states after the token:

        q_i = LayerNorm(P_i + W f_{i-1} + V b_{i+1}), P the first query of a T-TA

    A state beyond the ends of the sentence is 0. With `config.norm_first`, each tower and the query
    end in a LayerNorm. As in a T-TA, row i of the hidden states does not depend on token i, bit for
    bit. Unlike a T-TA's, its keys and values have a context.

    Args:
        k, w, config, ids, is_real: as in `tta.modeling.functions.encoders`.
        forward, backward: the (index, tokens) of a `Distinct`: the states that towers share.
        word_ids, wanted: as in a T-TA. With `word_ids`, the query starts from the backward state
            after the word, and reads those after it. The towers are computed at all positions.
    """
    embeddings, positions = w.of("embeddings"), k.arange(k.size(ids, 1))
    embedded = run_embed(k, embeddings, config, ids)
    towers = _cloze_towers(
        k,
        w,
        config,
        embedded,
        is_real=is_real,
        positions=positions,
        shared={"forward": forward, "backward": backward},
    )
    queries = Queries(k, ids, wanted)
    last = last_hidden(k, is_real, queries.positions, word_ids)
    first = queries.of(run_first_query(k, embeddings, config, ids))
    query = _cloze_query(
        k, w, config, towers, is_real=is_real, first=first, positions=queries.positions, last=last
    )
    stream = k.concatenate(towers, 1)  # [B, 2T, D]
    mask = two_sided(k, is_real, queries.positions, last)
    near = k.concatenate([positions, positions], 0)[None] - queries.positions[:, None]
    blocks = [w.of(f"layer_{i}") for i in range(config.num_hidden_layers)]
    projections = project_together(k, blocks, stream, config.num_attention_heads)
    for i, (layer, projected) in enumerate(zip(blocks, projections, strict=True)):
        options = {"projected": projected, "distances": near, "is_last": i == len(blocks) - 1}
        query = run_block(k, layer, config, query, stream, mask=mask, **options)
    query = queries.spread(_end_of_blocks(k, w, config, "final", query, magnifies=True))
    return {"hidden_states": query, "embedding_output": embedded}


def _cloze_towers(k, w, config, embedded, *, is_real, positions, shared):
    """The states of the forward and the backward tower: a list of two [B, T, D].

    `embedded` [B, T, D] is what both read. `shared` has the (index, tokens) of a `Distinct` for
    each tower, or None.
    """
    towers, near = [], positions[None] - positions[:, None]
    for side, may_attend_to in ("forward", up_to), ("backward", from_on):
        distinct, mask = Distinct(k, shared[side]), may_attend_to(k, is_real, positions)
        hidden = distinct.of(embedded, config.hidden_size)
        options = {"distances": near, "shared": shared[side]}
        for i in range(config.num_tower_layers):
            layer = w.of(f"{side}_{i}")
            hidden = run_block(k, layer, config, hidden, None, mask=mask, **options)
        towers.append(distinct.spread(_end_of_blocks(k, w, config, side, hidden)))
    return towers


def _end_of_blocks(k, w, config, name, x, magnifies=False):
    """The end of a stack of blocks: the LayerNorm `name`_norm, if its blocks begin with theirs."""
    if not config.norm_first:
        return x
    return run_add_norm(k, w.of(f"{name}_norm"), x, magnifies=magnifies)


def _cloze_query(k, w, config, towers, *, is_real, first, positions, last):
    """[B, Q, D]: from the position and the nearest state of each tower."""
    forward, backward = towers
    before = k.take(k.pad(forward, [(0, 0), (1, 0), (0, 0)]), positions, axis=1)
    # Nothing stands after the last token, be it the batch's or its own sentence's.
    after = k.where(is_real[:, :, None], backward, 0.0)
    after = k.rows(k.pad(after, [(0, 0), (0, 1), (0, 0)]), last + 1)
    size = config.hidden_size
    near = dense(k, w.of("forward_query"), before, size)
    near = near + dense(k, w.of("backward_query"), after, size)
    return run_add_norm(k, w.of("query_norm"), near, first)


def encode_transformer(
    k: Kit,
    w: Weights,
    config,
    ids: Array,
    is_real: Array,
    *,
    positions: Array | None = None,
    segment_ids: Array | None = None,
    added: Array | None = None,
    memory: Array | None = None,
):
    """biLM, a plain Transformer with T-TA's weights: each position attends to every real token.

    Args:
        k, w, config, ids, is_real: as in `tta.modeling.functions.encoders`.
        positions: [Q] or [B, Q]. The hidden states are then those of these positions only,
            [B, Q, D], and the last layer computes no others.
        segment_ids: [B, T], the segments of a BERT that has them (`num_segments`).
        added: [B, 1, D], added to the embeddings before their LayerNorm, and to the input of every
            later layer: the latent vector of an autoencoder.
        memory: [B, K, D], vectors that every position attends to in every layer, besides the
            tokens: the latent vectors of an autoencoder that has several.
    """
    mask = everything(k, is_real)
    if memory is not None:
        mask = remembering(k, mask, k.size(memory, 1))
    inputs = {"segment_ids": segment_ids, "added": added}
    embedded = hidden = run_embed(k, w.of("embeddings"), config, ids, **inputs)
    for i in range(config.num_hidden_layers):
        is_last = i == config.num_hidden_layers - 1
        if i and added is not None:
            hidden = hidden + k.float32(added)
        query = hidden if positions is None or not is_last else k.rows(hidden, positions)
        stream = hidden
        if memory is not None:
            stream = k.concatenate([k.float32(memory), hidden], 1)
        layer = w.of(f"layer_{i}")
        hidden = run_block(k, layer, config, query, stream, mask=mask, is_last=is_last)
    return {"hidden_states": hidden, "embedding_output": embedded}


def remembering(k: Kit, mask: Array, count: Any):
    """A mask [B, Q or 1, S] with `count` more keys, which come first: [B, Q or 1, count + S]."""
    return ~k.pad(~mask, [(0, 0), (0, 0), (count, 0)])


def encode_autoregressive(
    k: Kit,
    w: Weights,
    config,
    ids: Array,
    is_real: Array,
    *,
    segment_ids: Array | None = None,
    added: Array | None = None,
    memory: Array | None = None,
    forward: Sequence[Array] | None = None,
):
    """uniLM: each position attends to itself and the tokens before; weights are those of a biLM.

    With a memory, the decoder of an autoencoder, as Optimus's (Li et al. 2020, section 3).
    L layers, N heads, H = D / N, S keys and values.

    Args:
        k, w, config, ids, is_real: as in `tta.modeling.functions.encoders`.
        segment_ids: as in a biLM.
        added: [B, 1, D], added to the embeddings before their LayerNorm.
        memory: [B, L, D], one more key, which is also the value, in each layer. Every token attends
            to it.
        forward: the (index, tokens) of a `Distinct`, without a memory: states that are shared.
    """
    inputs = {"segment_ids": segment_ids, "added": added}
    embedded = run_embed(k, w.of("embeddings"), config, ids, **inputs)
    distinct = Distinct(k, forward)
    hidden = distinct.of(embedded, config.hidden_size)
    mask = up_to(k, is_real, tokens(k, ids))
    if memory is not None:
        mask = remembering(k, mask, 1)
    for i in range(config.num_hidden_layers):
        layer, projected = w.of(f"layer_{i}"), None
        if memory is not None:
            pair = project(k, layer.of("attention"), hidden, config.num_attention_heads)
            row = memory_heads(k, layer, config, memory, i)
            projected = [k.concatenate([row, heads], 2) for heads in pair]
        options = {"projected": projected, "shared": forward}
        options["is_last"] = i == config.num_hidden_layers - 1
        hidden = run_block(k, layer, config, hidden, None, mask=mask, **options)
    return {"hidden_states": distinct.spread(hidden), "embedding_output": embedded}


def memory_heads(k: Kit, w: Weights, config, memory: Array, layer: int):
    """The key of a layer's memory, which is also the value: [B, N, 1, H]."""
    heads = config.num_attention_heads
    row = k.compute(memory[:, layer : layer + 1], w)
    return k.split_heads(row, heads, config.hidden_size // heads)


def step(
    k: Kit,
    w: Weights,
    config,
    ids: Array,
    position: Array,
    added: Array,
    mask: Array,
    cache: Sequence[Any],
    extend: Callable[..., Any],
):
    """Reads one more token of each sentence: (the last layer's output [B, 1, D], the new cache).

    Args:
        k, w, config: as in `encode_autoregressive`.
        ids: [B, 1] int32, the tokens.
        position: [1], that of the token, from 0.
        added: [B, 1, D], as in `encode_autoregressive`.
        mask: [1, 1, S] bool, the keys to attend to, those of the token included.
        cache: the keys and values of all layers, 2 L.
        extend: called with one of these and what the token adds, [B, N, 1, H] -> [B, N, S, H].
    """
    inputs, after = {"added": added, "positions": position}, []
    hidden = run_embed(k, w.of("embeddings"), config, ids, **inputs)
    for i in range(config.num_hidden_layers):
        layer = w.of(f"layer_{i}")
        pair = project(k, layer.of("attention"), hidden, config.num_attention_heads)
        projected = [extend(old, new) for old, new in zip(cache[2 * i :], pair, strict=False)]
        options = {"projected": projected, "is_last": i == config.num_hidden_layers - 1}
        hidden = run_block(k, layer, config, hidden, None, mask=mask, **options)
        after += projected
    return hidden, after
