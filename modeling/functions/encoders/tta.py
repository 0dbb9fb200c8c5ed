"""T-TA's encoder (paper, section 4.2): every position from all the others, in one pass."""

from tta.modeling.functions.layers import block, embed, first_query, project_together
from tta.modeling.functions.masks import others, without_later_pieces
from tta.modeling.functions.queries import Queries


def encode(k, w, config, ids, is_real, *, word_ids=None, wanted=None, added=None):
    """Row i of the hidden states does not depend on token i, bit for bit.

    Only the query changes from layer to layer. Keys and values come from one stream in all layers,
    so a token hidden in one layer stays hidden.

    Args:
        k, w, config, ids, is_real: as in `tta.modeling.functions.encoders`.
        word_ids: as in `in_word`. Row i is then independent of the later pieces of its word
            too (within-word left-to-right).
        wanted: [B, T] bool, the tokens whose hidden states are needed. No token attends to another
            token's query, so positions that no sentence needs are not computed; their rows are 0.
        added: [B, 1, D], the same at every token: added to key/value and to the first query before
            their LayerNorm, and to the query of every later layer.
    """
    here, queries = w.of("embeddings"), Queries(k, ids, wanted)
    stream = embed(k, here, config, ids, added=added)
    query = queries.of(first_query(k, here, config.first_query_token_id, ids, added))
    mask = others(k, is_real, queries.positions)
    if word_ids is not None:
        mask = without_later_pieces(k, mask, word_ids, queries.positions)
    blocks = [w.of(f"layer_{i}") for i in range(config.num_hidden_layers)]
    attentions = [one.of("attention") for one in blocks]
    projections = project_together(k, attentions, stream, config.num_attention_heads)
    for i, (one, projected) in enumerate(zip(blocks, projections, strict=True)):
        if i and added is not None:
            query = query + k.float32(added)
        is_last = i == len(blocks) - 1
        query = block(k, one, config, query, mask, stream, projected, is_last=is_last)
    return {"hidden_states": queries.spread(query), "embedding_output": stream}
