"""biLM's encoder: a plain post-LayerNorm Transformer with exactly T-TA's weights."""

from tta.modeling.functions.layers import block, embed
from tta.modeling.functions.masks import everything


def encode(
    k, w, config, ids, is_real, *, positions=None, segment_ids=None, added=None, memory=None
):
    """As BERT's: every position attends to every real token.

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
    embedded = hidden = embed(k, w.of("embeddings"), config, ids, segment_ids, added)
    for i in range(config.num_hidden_layers):
        is_last = i == config.num_hidden_layers - 1
        if i and added is not None:
            hidden = hidden + k.float32(added)
        query = hidden if positions is None or not is_last else k.rows(hidden, positions)
        stream = hidden
        if memory is not None:
            stream = k.concatenate([k.float32(memory), hidden], 1)
        hidden = block(k, w.of(f"layer_{i}"), config, query, mask, stream, is_last=is_last)
    return {"hidden_states": hidden, "embedding_output": embedded}


def remembering(k, mask, count):
    """A mask [B, Q or 1, S] with `count` more keys, which come first: [B, Q or 1, count + S]."""
    return ~k.pad(~mask, [(0, 0), (0, 0), (count, 0)])
