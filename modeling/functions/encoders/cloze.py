"""The cloze encoder: every position from all the others, by way of two causal towers."""

from tta.modeling.functions.distinct import Distinct
from tta.modeling.functions.layers import (
    add_norm,
    block,
    dense,
    embed,
    first_query,
    project_together,
)
from tta.modeling.functions.masks import from_on, last_hidden, two_sided, up_to
from tta.modeling.functions.queries import Queries


def encode(k, w, config, ids, is_real, *, word_ids=None, wanted=None, forward=None, backward=None):
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
    embeddings, tokens = w.of("embeddings"), k.arange(k.size(ids, 1))
    embedded = embed(k, embeddings, config, ids)

    def end(side, x, magnifies=False):
        """The end of a stack of blocks: a LayerNorm if its blocks begin with theirs."""
        norm = f"{side}_norm/norm"
        return k.layer_norm(w.of(norm), x, magnifies=magnifies) if config.norm_first else x

    towers, near = [], tokens[None] - tokens[:, None]
    for side, allowed, shared in ("forward", up_to, forward), ("backward", from_on, backward):
        distinct, mask = Distinct(k, shared), allowed(k, is_real, tokens)
        hidden = distinct.of(embedded, config.hidden_size)
        for i in range(config.num_tower_layers):
            here = w.of(f"{side}_{i}")
            hidden = block(k, here, config, hidden, mask, distances=near, distinct=distinct)
        towers.append(distinct.spread(end(side, hidden)))
    queries = Queries(k, ids, wanted)
    last = last_hidden(k, is_real, queries.positions, word_ids)
    first = queries.of(first_query(k, embeddings, config.first_query_token_id, ids))
    query = _query(k, w, is_real, first, towers, queries.positions, last)
    stream = k.concatenate(towers, 1)  # [B, 2T, D]
    mask = two_sided(k, is_real, queries.positions, last)
    near = k.concatenate([tokens, tokens], 0)[None] - queries.positions[:, None]
    blocks = [w.of(f"layer_{i}") for i in range(config.num_hidden_layers)]
    attentions = [one.of("attention") for one in blocks]
    projections = project_together(k, attentions, stream, config.num_attention_heads)
    for i, (one, projected) in enumerate(zip(blocks, projections, strict=True)):
        is_last = i == len(blocks) - 1
        query = block(k, one, config, query, mask, stream, projected, near, is_last=is_last)
    query = queries.spread(end("final", query, magnifies=True))
    return {"hidden_states": query, "embedding_output": embedded}


def _query(k, w, is_real, first, towers, positions, last):
    """[B, Q, D]: from the position and the nearest state of each tower."""
    forward, backward = towers
    before = k.take(k.pad(forward, [(0, 0), (1, 0), (0, 0)]), positions, axis=1)
    # Nothing stands after the last token, be it the batch's or its own sentence's.
    after = k.where(is_real[:, :, None], backward, 0.0)
    after = k.rows(k.pad(after, [(0, 0), (0, 1), (0, 0)]), last + 1)
    near = dense(k, w.of("forward_query"), before) + dense(k, w.of("backward_query"), after)
    return add_norm(k, w.of("query_norm"), near, first)
