"""The latent vectors that join the halves of an autoencoder, as functions over a kit.

B sentences, T tokens, K latent vectors of a sentence, P numbers in each, D hidden size, L layers.
"""

from functools import partial

from tta.modeling.functions.heads import log_sum_exp
from tta.modeling.functions.layers import masked_softmax


def pool(k, w, config, states, is_real):
    """The states of a text [B, T, D] as K vectors [B, K, D]: attention with K learned queries q.

    softmax(q_k h / sqrt(D)) weighs the states h, in float32 in any precision.
    """
    states = k.float32(states)
    scaled = w["queries"] * config.hidden_size**-0.5
    logits = scaled @ k.transpose(states, (0, 2, 1))  # [B, K, T]
    return masked_softmax(k, logits[:, None], is_real[:, None])[:, 0] @ states


def connect(k, w, config, states):
    """{"mean": [..., P]} of latent vectors and, if variational, "log_variance": from [..., D].

    W_E h; of a variational model, a normal distribution (Li et al. 2020, Optimus, section 3).
    """
    kernel, size = w["kernel"], config.latent_size
    starts = {"mean": 0, "log_variance": size} if config.variational else {"mean": 0}
    return {name: states @ kernel[:, start : start + size] for name, start in starts.items()}


def posterior(k, w, config, encode, is_real):
    """{"mean": [B, K P]} of the latent vectors of texts and, if variational, their "log_variance".

    `w` has the weights of the model. `encode(True)` gives the encoder's states at the begin token
    [B, 1, D], `encode(False)` all states [B, T, D], so that the last layer computes no others.
    """
    if config.num_latents == 1:
        states = encode(True)
    else:
        pooling = w.of("pooling")
        states = k.part(pooling, partial(pool, k, pooling, config), encode(False), is_real)
    connector, rows = w.of("connector"), k.flat(states, config.hidden_size)
    parameters = k.part(connector, partial(connect, k, connector, config), rows)
    return {name: k.flat(part, config.latent_numbers) for name, part in parameters.items()}


def length_log_probabilities(k, w, latent):
    """log softmax(W_L z + b), log p of 1, 2, ... tokens: [B, K P] -> [B, M], natural log.

    As the length token of Ghazvininejad et al. 2019 (Mask-Predict, section 4.1). M is the largest
    number of tokens.
    """
    logits = k.part(w, lambda latent: latent @ w["kernel"] + w["bias"], latent)
    return logits - log_sum_exp(k, logits)


def decode_in_passes(xp, decode, predicted, num_passes, pad_id):
    """Predicts all tokens, then the least certain ones again, given the others: [B, T].

    Mask-Predict (Ghazvininejad et al. 2019, section 3). After pass t of N, the n (N - t) / N
    tokens (rounded down, of n predicted ones) with the lowest probability are hidden, and
    predicted again by the next pass.

    Args:
        xp: has `where`, `sum` and a stable `argsort`, as `keras.ops` does.
        decode: gives the most probable tokens and their log-probabilities, [B, T] each. Its
            argument is what is known, [B, T]: a token, or `pad_id`. None is nothing.
        predicted: [B, T] bool, the positions that are predicted; none of the others is ever known.
        num_passes: N.
        pad_id: id of the padding token.
    """
    count = xp.sum(predicted, axis=1, keepdims=True)
    ids, scores = decode(None)
    for number in range(1, num_passes):
        hidden = lowest(xp, scores, predicted, count * (num_passes - number) // num_passes)
        known = xp.where(predicted & ~hidden, ids, pad_id)
        new = decode(known)
        ids, scores = (xp.where(hidden, *arrays) for arrays in zip(new, (ids, scores), strict=True))
    return ids


def lowest(xp, values, allowed, counts):
    """Where the lowest numbers of each row of values [B, T] are, the first of equals: [B, T] bool.

    They are chosen among the `allowed` positions, [B, T] bool; `counts` [B, 1] says how many: all
    of them if there are fewer.
    """
    order = xp.argsort(xp.where(allowed, values, float("inf")), axis=1)
    return allowed & (xp.argsort(order, axis=1) < counts)


def run_latent_inputs(k, w, config, latent):
    """Runs `latent_inputs` as a part."""
    return k.part(w, partial(latent_inputs, k, w, config), latent)


def latent_inputs(k, w, config, latent):
    """What a decoder reads of the latent vectors [B, K P]: "added" [B, 1, D], maybe "memory".

    W_D z is added to embeddings. The memory is W_M z, one vector per layer of an autoregressive
    decoder [B, L, D]; or, of several latent vectors, W_M z_k [B, K, D].
    """
    state = {"added": (latent @ w["added_kernel"])[:, None]}
    if config.num_memories:
        rows = latent @ w["memory_kernel"]
        state["memory"] = k.flat(rows, config.num_memories, config.hidden_size)
    elif config.num_latents > 1:
        each = k.flat(latent, config.num_latents, config.latent_size)
        state["memory"] = each @ w["memory_kernel"]
    return state
