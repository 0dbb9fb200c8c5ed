"""The softmax heads, as functions over a kit. B batch, T tokens, M rows, D hidden size.

`w` has the weights of the whole model, if nothing else is said.
"""

from tta.modeling.functions.queries import spread


def transform(k, w, config, rows):
    """The features of a head's last product: [M, D] -> [M, D] float32, as BERT's head makes them.

    `w` has the weights of the head. A family whose config has `head_transform` False has no such
    layers.
    """
    if not config.head_transform:
        return k.float32(rows)
    features = k.activation(k.dense(rows, w.of("transform")), config.hidden_act)
    return k.layer_norm(w.of("transform_norm"), features)


def table_of(w, config):
    """(the layer that has the table of the softmax, its name there): of the tokens, or its own."""
    if config.output_layer == "softmax":
        return w.of("head"), "table"
    half = "decoder" if config.model_type == "autoencoder" else "encoder"
    return w.of(half).of("embeddings"), "token_table"


def log_probabilities(k, w, config, rows, targets, normalizer="exact"):
    """Natural log-probabilities of the targets [M], given the states [M, D]: [M] float32.

    With the "learned" normalizer, they are the logits of the targets alone.
    """
    features, (here, name) = transform(k, w.of("head"), config, rows), table_of(w, config)
    bias = w.of("head")["bias"]
    logits = k.sum(features * k.take(here[name], targets), -1) + k.take(bias, targets)
    if normalizer == "learned":
        return logits
    # The target has the same logit in the sum: it is not rounded in int8, a probability near 1 is
    # exact, and none is above 1.
    others = k.log_sum_of_others(features, here, name, w.of("head"), targets)
    return -1.0 * k.softplus(others - logits)


def token_scores(
    k, w, config, encode, ids, is_real, wanted, predicts_next, normalizer="exact", more=None
):
    """log p of every token that is wanted: [B, T] float32, 0 at the others.

    Args:
        k, w, config: the kit, the weights of the model, and its config.
        encode: the encoder's function.
        ids, is_real: [B, T].
        wanted: [B, T] bool.
        predicts_next: whether the output at a token predicts the next one; the first token then has
            no score.
        normalizer: as in `log_probabilities`.
        more: optional inputs of the encoder.
    """
    tokens = ids
    if predicts_next:
        ids, is_real, tokens, wanted = ids[:, :-1], is_real[:, :-1], ids[:, 1:], wanted[:, 1:]
    states = encode(k, w.of("encoder"), config, ids, is_real, **more or {})["hidden_states"]
    is_wanted = k.flat(wanted)
    positions = k.nonzero(is_wanted)
    rows = k.take(k.flat(states, config.hidden_size), positions)
    targets = k.take(k.flat(tokens), positions)
    scores = log_probabilities(k, w, config, rows, targets, normalizer)
    scores = k.unflat(spread(k, scores, is_wanted, axis=0, rank=1), wanted)
    return k.pad(scores, [(0, 0), (1, 0)]) if predicts_next else scores
