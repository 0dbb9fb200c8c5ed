"""uniLM's encoder, and the autoregressive decoder of an autoencoder, which also reads a memory.

Optimus's decoder (Li et al. 2020, section 3). L layers, N heads, H = D / N, S keys and values.
"""

from tta.modeling.functions.distinct import Distinct
from tta.modeling.functions.encoders.transformer import remembering
from tta.modeling.functions.layers import block, embed, project
from tta.modeling.functions.masks import tokens, up_to


def encode(k, w, config, ids, is_real, *, segment_ids=None, added=None, memory=None, forward=None):
    """Every position attends to itself and the tokens before; weights are those of a biLM.

    Args:
        k, w, config, ids, is_real: as in `tta.modeling.functions.encoders`.
        segment_ids: as in a biLM.
        added: [B, 1, D], added to the embeddings before their LayerNorm.
        memory: [B, L, D], one more key, which is also the value, in each layer. Every token attends
            to it.
        forward: the (index, tokens) of a `Distinct`, without a memory: states that are shared.
    """
    embedded = embed(k, w.of("embeddings"), config, ids, segment_ids, added)
    distinct = Distinct(k, forward)
    hidden = distinct.of(embedded, config.hidden_size)
    mask = up_to(k, is_real, tokens(k, ids))
    if memory is not None:
        mask = remembering(k, mask, 1)
    for i in range(config.num_hidden_layers):
        here, projected = w.of(f"layer_{i}"), None
        if memory is not None:
            new = project(k, here.of("attention"), hidden, config.num_attention_heads)
            row = memory_heads(k, here, config, memory, i)
            projected = [k.concatenate([row, one], 2) for one in new]
        is_last = i == config.num_hidden_layers - 1
        more = {"projected": projected, "distinct": distinct, "is_last": is_last}
        hidden = block(k, here, config, hidden, mask, **more)
    return {"hidden_states": distinct.spread(hidden), "embedding_output": embedded}


def memory_heads(k, w, config, memory, layer):
    """The key of a layer's memory, which is also the value: [B, N, 1, H]."""
    heads = config.num_attention_heads
    row = k.compute(memory[:, layer : layer + 1], w)
    return k.split_heads(row, heads, config.hidden_size // heads)


def step(k, w, config, ids, position, added, mask, cache, extend):
    """Reads one more token of each sentence: (the last layer's output [B, 1, D], the new cache).

    Args:
        k, w, config: as in `encode`.
        ids: [B, 1] int32, the tokens.
        position: [1], that of the token, from 0.
        added: [B, 1, D], as in `encode`.
        mask: [1, 1, S] bool, the keys to attend to, those of the token included.
        cache: the keys and values of all layers, 2 L.
        extend: called with one of these and what the token adds, [B, N, 1, H] -> [B, N, S, H].
    """
    hidden, after = embed(k, w.of("embeddings"), config, ids, added=added, positions=position), []
    for i in range(config.num_hidden_layers):
        here = w.of(f"layer_{i}")
        new = project(k, here.of("attention"), hidden, config.num_attention_heads)
        projected = [extend(old, one) for old, one in zip(cache[2 * i :], new, strict=False)]
        is_last = i == config.num_hidden_layers - 1
        hidden = block(k, here, config, hidden, mask, projected=projected, is_last=is_last)
        after += projected
    return hidden, after
