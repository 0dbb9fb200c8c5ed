"""A cloze encoder read off its equations: float64 NumPy, one sentence, no masks, as `numpy_tta`."""

import numpy as np

from tests.modeling import numpy_tta
from tests.modeling.numpy_tta import below, layer_norm, pre_norm_block


def encode(weights, config, ids, word_ids=None):
    """One sentence of T real tokens: its hidden states and embedding output, each [T, D]."""
    encoder, heads, length = below(weights, "encoder"), config.num_attention_heads, len(ids)
    norm = encoder["embeddings/norm/gamma"], encoder["embeddings/norm/beta"]
    table, positions = (encoder[f"embeddings/{name}_table"] for name in ("token", "position"))
    positions = positions[:length]
    embedded = layer_norm(table[ids] + positions, *norm)
    words = np.arange(length) if word_ids is None else word_ids[:length]
    ends = [max(np.flatnonzero(words == word)) + 1 for word in words]  # the token after the word

    def block(query, stream, layer, visible):
        weights = below(encoder, layer)
        if config.norm_first:
            return pre_norm_block(query, stream, weights, heads, visible)
        stream = query if stream is None else stream
        return numpy_tta.block(query, stream, weights, heads, visible)

    def end(x, name):
        return numpy_tta.norm(x, encoder, f"{name}_norm") if config.norm_first else x

    def tower(side, visible):
        states = embedded
        for i in range(config.num_tower_layers):
            states = block(states, None, f"{side}_{i}", visible)
        return end(states, side)

    forward = tower("forward", lambda i, _: list(range(i + 1)))
    backward = tower("backward", lambda i, _: list(range(i, length)))
    nothing = np.zeros(config.hidden_size)
    before = np.array([forward[i - 1] if i else nothing for i in range(length)])
    after = np.array([backward[j] if j < length else nothing for j in ends])
    first = config.first_query_token_id
    query = layer_norm(positions if first is None else positions + table[first], *norm)
    for side, near in (("forward", before), ("backward", after)):
        layer = below(encoder, f"{side}_query")
        query = query + near @ layer["kernel"] + layer["bias"]
    query = layer_norm(query, encoder["query_norm/norm/gamma"], encoder["query_norm/norm/beta"])

    def around(i, _):
        return [*range(i), *range(length + ends[i], 2 * length)]

    for i in range(config.num_hidden_layers):
        stream = np.concatenate([forward, backward])
        query = block(query, stream, f"layer_{i}", around)
    return end(query, "final"), embedded
