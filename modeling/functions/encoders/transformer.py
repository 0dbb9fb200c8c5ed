"""Plain post-LayerNorm Transformers with exactly T-TA's weights; they differ in the mask."""

from tta.modeling.functions.layers import block, embed
from tta.modeling.functions.masks import everything, tokens, up_to


def encode(
    k, w, config, ids, is_real, *, positions=None, segment_ids=None, added=None, memory=None
):
    """biLM's encoder, BERT's: every position attends to every real token.

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
    return _stack(k, w, config, ids, mask, mask, positions, segment_ids, added, memory)


def encode_causally(
    k, w, config, ids, is_real, *, positions=None, segment_ids=None, added=None, memory=None
):
    """uniLM's encoder: every position attends to itself and the tokens before. Else as `encode`."""
    mask = up_to(k, is_real, tokens(k, is_real))
    last = mask if positions is None else k.rows(mask, positions)
    return _stack(k, w, config, ids, mask, last, positions, segment_ids, added, memory)


def _stack(k, w, config, ids, mask, last_mask, positions, segment_ids, added, memory):
    if memory is not None:
        mask, last_mask = (remembering(k, one, k.size(memory, 1)) for one in (mask, last_mask))
    embedded = hidden = embed(k, w.of("embeddings"), config, ids, segment_ids, added)
    for i in range(config.num_hidden_layers):
        is_last = i == config.num_hidden_layers - 1
        if i and added is not None:
            hidden = hidden + k.float32(added)
        query = hidden if positions is None or not is_last else k.rows(hidden, positions)
        stream = hidden
        if memory is not None:
            stream = k.concatenate([k.float32(memory), hidden], 1)
        allowed = last_mask if is_last else mask
        hidden = block(k, w.of(f"layer_{i}"), config, query, allowed, stream, is_last=is_last)
    return {"hidden_states": hidden, "embedding_output": embedded}


def remembering(k, mask, count):
    """A mask [B, Q or 1, S] with `count` more keys, which come first: [B, Q or 1, count + S]."""
    return ~k.pad(~mask, [(0, 0), (0, 0), (count, 0)])
