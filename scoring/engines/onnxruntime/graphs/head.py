"""Log-probabilities of tokens from hidden states: the softmax heads of `tta.modeling.heads`.

M tokens, D hidden size, V vocabulary.
"""

import itertools
from typing import Any

from tta.scoring.engines.onnxruntime.graphs.graph import Tensor, concatenate
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
    return logits - log_normalizers(features, weights, config)


def transform(states: Tensor, weights: Weights, config: Any) -> Tensor:
    """The features of the last product, of states [M, D]: [M, D]."""
    if not config.head_transform:
        return states
    head = weights.of("head")
    features = activation(config.hidden_act, dense_rows(states, head.of("transform")))
    return layer_norm(features, head.of("transform_norm"), config.layer_norm_eps)


def log_normalizers(features: Tensor, weights: Weights, config: Any) -> Tensor:
    """log sum exp of the logits of all pieces: [M, D] -> [M]."""
    size, found = config.vocab_size, []
    bounds = [size * part // NUM_PARTS for part in range(NUM_PARTS + 1)]
    for start, stop in itertools.pairwise(bounds):
        if start < stop:
            found.append(log_sum_exp(logits(features, weights, config, start, stop)))
    return log_sum_exp(concatenate(found, 1)).reshape(-1)


def logits(features: Tensor, weights: Weights, config: Any, start: int, stop: int) -> Tensor:
    """The logits of the pieces from `start` to `stop`: [M, D] -> [M, stop - start]."""
    graph, table = features.graph, _table(config)
    name, rows = f"{table}[{start}:{stop}]", weights.arrays[table][start:stop]
    bias = graph.weight(f"head/bias[{start}:{stop}]", weights.arrays["head/bias"][start:stop])
    if weights.are_rounded:
        return rounded_product(features, name, rows.T, bias)
    return graph.operator("Gemm", features, graph.weight(name, rows), bias, transB=1)


def log_sum_exp(x: Tensor) -> Tensor:
    """Over the last axis: [M, P] -> [M, 1]."""
    graph, highest = x.graph, x.max(1, keepdims=True)
    total = graph.operator("Exp", x - highest).sum(1, keepdims=True)
    return highest + graph.operator("Log", total)


def _table(config):
    """The name of the token table, or of the head's own."""
    if config.output_layer == "softmax":
        return "head/table"
    half = "decoder" if config.model_type == "autoencoder" else "encoder"
    return f"{half}/embeddings/token_table"
