"""The softmax heads, as functions over a kit.

B batch, T tokens, M rows, D hidden size, V vocabulary.
"""

import functools
from collections.abc import Callable
from typing import Any

from tta.modeling.functions.kit import Array, Kit, Weights
from tta.modeling.functions.queries import spread

# Rows are computed in multiples of this number. TensorFlow caches prepared products for each number
# of rows, about 50 kB each, and each batch of a stream has its own number
# (docs/experiments/performance.md).
ROWS_STEP = 16


def transform(k: Kit, w: Weights, config, rows: Array):
    """The features of a head's last product: [M, D] -> [M, D] float32, as BERT's head makes them.

    `w` has the weights of the head. A family whose config has `head_transform` False has no such
    layers.
    """
    if not config.head_transform:
        return k.float32(rows)
    features = k.activation(k.dense(rows, w.of("transform")), config.hidden_act)
    return k.layer_norm(w.of("transform_norm"), features)


def table_of(w: Weights, config):
    """The table of the softmax [V, D]; `w` has the weights of the model."""
    path, _, name = config.output_table.rpartition("/")
    return w.of(path)[name]


def log_probabilities(
    k: Kit, w: Weights, config, table: Array, rows: Array, targets: Array, normalizer: str = "exact"
):
    """Natural log-probabilities of the targets [M], given the states [M, D]: [M] float32.

    `w` has the weights of the head. With the "learned" normalizer, they are the logits of the
    targets alone.
    """
    features = transform(k, w, config, rows)
    if normalizer == "learned":
        return target_logits(k, features, table, w["bias"], targets)
    return log_softmax(
        k,
        w,
        features,
        table=table,
        bias=w["bias"],
        targets=targets,
        num_pieces=config.vocab_size,
    )


def scorer(k: Kit, w: Weights, config, normalizer: str = "exact"):
    """`scores_where` as a function of states, targets and wanted; `w` has the model's weights."""
    head, table = w.of("head"), table_of(w, config)

    def score(rows: Array, targets: Array):
        return log_probabilities(
            k, head, config, table=table, rows=rows, targets=targets, normalizer=normalizer
        )

    return functools.partial(scores_where, k, score, config.hidden_size)


def target_logits(k: Kit, features: Array, table: Array, bias: Array, targets: Array):
    """features table^T + bias at the targets only: one dot product per row instead of V.

    These are log-probabilities if the log-normalizer, log sum exp over the vocabulary, is 0. The
    `penalty` of `tied_cross_entropy` trains a model to keep it near 0.
    """
    rows = k.float32(k.take(table, targets))
    return k.sum(k.float32(features) * rows, -1) + k.take(bias, targets)


def log_softmax(
    k: Kit, w: Weights, features: Array, table: Array, bias: Array, targets: Array, num_pieces: int
):
    """log softmax(features table^T + bias) at the targets: [M] float32, natural log.

    Args:
        k: the kit.
        w: the weights of the head.
        features: [M, D] float32.
        table, bias: [V, D] and [V].
        targets: [M] integers.
        num_pieces: V.
    """
    log_sums, entries = [], k.integer(targets)
    # The parts divide the vocabulary, not the rows. So each row of the table is read once, and a
    # token takes the same time in a small batch as in a large one.
    for start, stop in k.parts(num_pieces):
        logits, weights = k.logits(features, w, table, bias, start=start, stop=stop)
        log_sums.append(log_sum_exp(k, logits, weights, entries - start, stop - start))
    log_sum = log_sum_exp(k, k.concatenate(log_sums, 1))[:, 0]
    # The target has the same logit in the sum, whose products may be rounded: a probability near 1
    # is exact, and none is above 1.
    return -1.0 * k.softplus(log_sum - target_logits(k, features, table, bias, targets))


def log_sum_exp(
    k: Kit,
    logits: Array,
    weights: Array | None = None,
    left_out: Array | None = None,
    size: int | None = None,
):
    """log sum weights * exp(logits) over the last axis, in float32: [M, P] -> [M, 1].

    `weights` [P] are 1 if None. `left_out` [M] is an entry of each row that is left out, if it is
    one of 0 to P - 1; `size` is P then.
    """
    highest = 0.0 if k.small_logits else k.float32(k.max(logits, -1, keepdims=True))
    exponentials = k.exp(k.float32(logits) - highest)
    ones = weights is None
    total = k.sum(exponentials, -1) if ones else k.flat(exponentials @ weights[:, None])
    if left_out is not None:
        is_here = (left_out >= 0) & (left_out < size)
        entry = k.where(is_here, left_out, 0)
        value = k.pick(exponentials, entry)
        value = k.where(is_here, value if ones else value * k.take(weights, entry), 0.0)
        total = k.maximum(total - value, 1e-30)  # rounding may leave nothing
    return highest + k.log(total)[:, None]


def scores_where(
    k: Kit,
    score: Callable[..., Any],
    size: int,
    states: Array,
    targets: Array,
    wanted: Array | None = None,
):
    """score(rows [M, D], targets [M]) at the tokens that are wanted: [B, T] float32, else 0.

    `states` are [B, T, D], D = `size`; `targets` and `wanted` are [B, T], integers and bool. If
    `wanted` is None, all are.
    """
    if wanted is None:
        return k.unflat(score(k.flat(states, size), k.flat(targets)), targets)
    is_wanted = k.flat(wanted)
    positions = k.nonzero(is_wanted, ROWS_STEP)
    rows = k.take(k.flat(states, size), positions)
    scores = score(rows, k.take(k.flat(targets), positions))
    return k.unflat(spread(k, scores, is_wanted, axis=0, rank=1), wanted)


def predicting_states(
    k: Kit, encode: Callable[..., Any], ids: Array, is_real: Array, predicts_next: bool
):
    """The states that predict each token, at its position: [B, T, D].

    If the output at a token predicts the next one (`predicts_next`), that at the first is 0.
    """
    if not predicts_next:
        return encode(ids, is_real)
    return k.pad(encode(ids[:, :-1], is_real[:, :-1]), [(0, 0), (1, 0), (0, 0)])


def token_scores(
    k: Kit,
    encode: Callable[..., Any],
    score: Callable[..., Any],
    ids: Array,
    is_real: Array,
    wanted: Array | None,
    predicts_next: bool,
):
    """log p of every token that is wanted: [B, T] float32, 0 at the others.

    Args:
        k: the kit.
        encode: makes states [B, T, D] of ids, is_real and wanted.
        score: makes scores of states, targets and wanted, as `scorer` does.
        ids, is_real: [B, T].
        wanted: [B, T] bool; None is all.
        predicts_next: whether the output at a token predicts the next one; the first token then has
            no score.
    """
    if not predicts_next:
        return score(encode(ids, is_real, wanted), ids, wanted)
    wanted = None if wanted is None else wanted[:, 1:]
    states = encode(ids[:, :-1], is_real[:, :-1], wanted)
    return k.pad(score(states, ids[:, 1:], wanted), [(0, 0), (1, 0)])
