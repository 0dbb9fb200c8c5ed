"""Log-probabilities of tokens from hidden states: the softmax heads of `tta.modeling.heads`.

M tokens, D hidden size, V vocabulary.
"""

import itertools
from typing import Any

from tta.scoring.engines.onnxruntime.graph import Tensor, concatenate
from tta.scoring.engines.onnxruntime.layers import activation, dense_rows, layer_norm
from tta.scoring.engines.onnxruntime.rounding import rounded_product
from tta.scoring.engines.onnxruntime.weights import Weights

# The logits are computed in this many parts, so that one part is in memory at a time.
NUM_PARTS = 8


def log_probabilities(
    states: Tensor, targets: Tensor, weights: Weights, config: Any, normalizer: str
) -> Tensor:
    """Natural log-probabilities of the targets [M] int32, given the states [M, D]: [M].

    With the "learned" normalizer, they are the logits of the targets alone.
    """
    name = "head/table" if config.output_layer == "softmax" else "encoder/embeddings/token_table"
    head, features = weights.of("head"), states
    if config.head_transform:
        features = dense_rows(states, head.of("transform"))
        features = activation(config.hidden_act, features)
        features = layer_norm(features, head.of("transform_norm"), config.layer_norm_eps)
    logits = (features * weights[name].take(targets)).sum(-1) + head["bias"].take(targets)
    if normalizer == "learned":
        return logits
    return logits - log_normalizers(features, weights, name, config.vocab_size)


def log_normalizers(features: Tensor, weights: Weights, table: str, size: int) -> Tensor:
    """log sum exp of the logits of all pieces: [M, D] -> [M]."""
    graph, bias = features.graph, weights.arrays["head/bias"]
    rows, found = weights.arrays[table], []
    bounds = [size * part // NUM_PARTS for part in range(NUM_PARTS + 1)]
    for start, stop in itertools.pairwise(bounds):
        if start < stop:
            name, part = f"{table}[{start}:{stop}]", rows[start:stop]
            shift = graph.weight(f"head/bias[{start}:{stop}]", bias[start:stop])
            if weights.are_rounded:
                logits = rounded_product(features, name, part.T, shift)
            else:
                logits = graph.operator("Gemm", features, graph.weight(name, part), shift, transB=1)
            found.append(_log_sum_exp(logits))
    return _log_sum_exp(concatenate(found, 1)).reshape(-1)


def _log_sum_exp(x):
    """[M, P] -> [M, 1]."""
    graph, highest = x.graph, x.max(1, keepdims=True)
    total = graph.operator("Exp", x - highest).sum(1, keepdims=True)
    return highest + graph.operator("Log", total)
