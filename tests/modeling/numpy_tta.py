"""T-TA read off the paper's equations: float64 NumPy, one sentence, one position, no masks.

Where the model forbids a key by a mask, this leaves it out of the sum. Where the original code
differs from the paper (the first query), `config.first_query_token_id` says so. Weights go by
the names of `LanguageModel.named_weights`.
"""

import numpy as np
from scipy.special import erf, logsumexp


def gelu(x):
    return x * 0.5 * (1.0 + erf(x / np.sqrt(2.0)))


def layer_norm(x, gamma, beta, epsilon=1e-12):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + epsilon) * gamma + beta


def softmax(x):
    return np.exp(x - logsumexp(x, axis=-1, keepdims=True))


def attend(query, keys, values, added=0.0):
    """One query [H] over keys [S, H] and values [S, H]: [H]; nothing where S = 0.

    `added` [S] is added to the logits.
    """
    if not len(keys):
        return np.zeros_like(query)
    return softmax(keys @ query / np.sqrt(len(query)) + added) @ values


def others(i, length):
    """The positions that T-TA's position i sees."""
    return [j for j in range(length) if j != i]


def attention(query, key_value, weights, num_heads, visible=others):
    """Multi-head attention of T queries [T, D] over key_value [T, D] (equation 2): [T, D]."""

    def project(x, name):
        return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]

    q, k, v = project(query, "query"), project(key_value, "key"), project(key_value, "value")
    length, size = q.shape
    head_size = size // num_heads
    result = np.zeros_like(q)
    for i in range(length):
        seen = visible(i, length)
        for head in range(num_heads):
            part = slice(head * head_size, (head + 1) * head_size)
            added = [relative(weights, head, j % length - i) for j in seen]
            result[i, part] = attend(q[i, part], k[seen, part], v[seen, part], added)
    return project(result, "output")


def relative(weights, head, distance):
    """What the logit of a key at a distance gets, in a model with relative positions."""
    if "relative_bias" not in weights:
        return 0.0
    of_head = weights["relative_bias"][head]
    largest = len(of_head) // 2
    return of_head[largest + min(max(distance, -largest), largest)]


def feed_forward(x, weights, activation=gelu):
    """The feed-forward layer (FeedForward in equation 1)."""
    inner = activation(x @ weights["intermediate/kernel"] + weights["intermediate/bias"])
    return inner @ weights["output/kernel"] + weights["output/bias"]


def earlier_in_word(word_ids):
    """The positions that T-TA's position i sees without the later pieces of its word."""
    return lambda i, length: [j for j in others(i, length) if word_ids[i] != word_ids[j] or j < i]


def norm(x, weights, name):
    """The LayerNorm of a name."""
    return layer_norm(x, weights[f"{name}/norm/gamma"], weights[f"{name}/norm/beta"])


def block(query, key_value, weights, num_heads, visible=others):
    """One self-masked self-attention layer (equation 1)."""
    attended = attention(query, key_value, below(weights, "attention"), num_heads, visible)
    hidden = norm(query + attended, weights, "attention_norm")
    made = feed_forward(hidden, below(weights, "feed_forward"))
    return norm(hidden + made, weights, "feed_forward_norm")


def pre_norm_block(query, key_value, weights, num_heads, visible):
    """The same with pre-LayerNorm; without `key_value` it reads its normalized query."""
    first = norm(query, weights, "attention_norm")
    stream = first if key_value is None else key_value
    attended = attention(first, stream, below(weights, "attention"), num_heads, visible)
    hidden = query + attended
    second = norm(hidden, weights, "feed_forward_norm")
    return hidden + feed_forward(second, below(weights, "feed_forward"))


def below(weights, prefix):
    """The weights whose names begin with prefix/, without it."""
    return {
        k.removeprefix(f"{prefix}/"): v for k, v in weights.items() if k.startswith(f"{prefix}/")
    }


def encode(weights, config, ids, visible=others):
    """One sentence of T real tokens: its hidden states and embedding output, each [T, D]."""
    table = weights["encoder/embeddings/token_table"]
    positions = weights["encoder/embeddings/position_table"][: len(ids)]
    norm = weights["encoder/embeddings/norm/gamma"], weights["encoder/embeddings/norm/beta"]
    key_value = layer_norm(table[ids] + positions, *norm)
    first = config.first_query_token_id
    query = layer_norm(positions if first is None else positions + table[first], *norm)
    for i in range(config.num_hidden_layers):
        layer = below(weights, f"encoder/layer_{i}")
        query = block(query, key_value, layer, config.num_attention_heads, visible)
    return query, key_value


def logits(weights, hidden_states):
    """BERT's output head with the tied table: [T, V]."""
    head = below(weights, "head")
    x = gelu(hidden_states @ head["transform/kernel"] + head["transform/bias"])
    x = layer_norm(x, head["transform_norm/gamma"], head["transform_norm/beta"])
    return x @ weights["encoder/embeddings/token_table"].T + head["bias"]


def log_softmax(x):
    return x - logsumexp(x, axis=-1, keepdims=True)
