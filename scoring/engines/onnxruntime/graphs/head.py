"""Log-probabilities of tokens from hidden states: the softmax heads of `tta.modeling.heads`.

M tokens, D hidden size, V vocabulary.
"""

import itertools
from typing import Any

import numpy as np

from tta.scoring.engines.onnxruntime.graphs.graph import Tensor, concatenate, where
from tta.scoring.engines.onnxruntime.graphs.layers import activation, dense_rows, layer_norm
from tta.scoring.engines.onnxruntime.graphs.rounding import rounded_product
from tta.scoring.engines.onnxruntime.graphs.weights import Weights

# The logits are computed in this many parts, so that one part is in memory at a time.
NUM_PARTS = 8


def log_probabilities(
    states: Tensor, targets: Tensor, weights: Weights, config: Any, normalizer: str
) -> Tensor:
    """Natural log-probabilities of the targets [M] int32, given the states [M, D]: [M].

    With the "learned" normalizer, they are the logits of the targets alone.
    """
    features, bias = transform(states, weights, config), weights.of("head")["bias"]
    rows = weights[_table(config)].take(targets)
    logits = (features * rows).sum(-1) + bias.take(targets)
    if normalizer == "learned":
        return logits
    # As in `tied_log_probabilities`, the target has the same logit in the sum: it is not rounded in
    # int8, a probability near 1 is exact, and none is above 1.
    others = log_sum_of_others(features, targets, weights, config) - logits
    return features.graph.operator("Softplus", others) * -1.0


def transform(states: Tensor, weights: Weights, config: Any) -> Tensor:
    """The features of the last product, of states [M, D]: [M, D]."""
    if not config.head_transform:
        return states
    head = weights.of("head")
    features = activation(config.hidden_act, dense_rows(states, head.of("transform")))
    return layer_norm(features, head.of("transform_norm"), config.layer_norm_eps)


def log_sum_of_others(features: Tensor, targets: Tensor, weights: Weights, config: Any) -> Tensor:
    """log sum exp of the logits of all pieces but the target [M]: [M, D] -> [M]."""
    size, found = config.vocab_size, []
    bounds = [size * part // NUM_PARTS for part in range(NUM_PARTS + 1)]
    for start, stop in itertools.pairwise(bounds):
        if start < stop:
            x = logits(features, weights, config, start, stop)
            found.append(log_sum_exp(x, targets.cast(np.int64) - np.int64(start)))
    return log_sum_exp(concatenate(found, 1)).reshape(-1)


def logits(features: Tensor, weights: Weights, config: Any, start: int, stop: int) -> Tensor:
    """The logits of the pieces from `start` to `stop`: [M, D] -> [M, stop - start]."""
    graph, table = features.graph, _table(config)
    name, rows = f"{table}[{start}:{stop}]", weights.arrays[table][start:stop]
    bias = graph.weight(f"head/bias[{start}:{stop}]", weights.arrays["head/bias"][start:stop])
    if weights.are_rounded:
        return rounded_product(features, name, rows.T, bias)
    return graph.operator("Gemm", features, graph.weight(name, rows), bias, transB=1)


def log_sum_exp(x: Tensor, left_out: Tensor | None = None) -> Tensor:
    """Over the last axis: [M, P] -> [M, 1].

    `left_out` [M] int64 is an entry of each row that is left out, if it is one of 0 to P - 1.
    """
    graph, highest = x.graph, x.max(1, keepdims=True)
    exponentials = graph.operator("Exp", x - highest)
    total = exponentials.sum(1, keepdims=True)
    if left_out is not None:
        entry = graph.operator("Mod", left_out, x.size(1))
        value = graph.operator("GatherElements", exponentials, entry.expand(1), axis=1)
        rest = total - where(entry.equals(left_out).expand(1), value, 0.0)
        total = graph.operator("Max", rest, 1e-30)  # rounding may leave nothing
    return highest + graph.operator("Log", total)


def _table(config):
    """The name of the token table, or of the head's own."""
    if config.output_layer == "softmax":
        return "head/table"
    half = "decoder" if config.model_type == "autoencoder" else "encoder"
    return f"{half}/embeddings/token_table"
