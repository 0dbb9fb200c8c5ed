"""Sums over the vocabulary. M rows, D hidden size, V vocabulary.

The table of the softmax is the weight `name` of the weights `here`; `head` has the bias.
"""

import itertools

import numpy as np

from tta.modeling.kits.onnx.graph import Tensor
from tta.modeling.kits.onnx.rounding import rounded_product
from tta.modeling.kits.onnx.weights import Weights

# The logits are computed in this many parts, so that one part is in memory at a time.
NUM_PARTS = 8


def log_sum_of_others(
    features: Tensor, here: Weights, name: str, head: Weights, targets: Tensor
) -> Tensor:
    """log sum exp of the logits of all pieces but the target [M]: [M, D] -> [M]."""
    (size, _), graph, found = here.shape(name), features.graph, []
    bounds = [size * part // NUM_PARTS for part in range(NUM_PARTS + 1)]
    targets = graph.operator("Cast", targets, to=7)  # int64
    for start, stop in itertools.pairwise(bounds):
        if start < stop:
            x = logits(features, here, name, head, start, stop)
            found.append(log_sum_exp(x, targets - np.int64(start)))
    joined = log_sum_exp(graph.operator("Concat", *found, axis=1))
    return graph.operator("Reshape", joined, [-1])


def logits(
    features: Tensor, here: Weights, name: str, head: Weights, start: int, stop: int
) -> Tensor:
    """The logits of the pieces from `start` to `stop`: [M, D] -> [M, stop - start]."""
    graph, part = features.graph, f"[{start}:{stop}]"
    name, rows = here.prefix + name, here.arrays[here.prefix + name][start:stop]
    bias = graph.weight(f"head/bias{part}", head.arrays["head/bias"][start:stop])
    if head.are_rounded:
        return rounded_product(features, name + part, rows.T, bias)
    return graph.operator("Gemm", features, graph.weight(name + part, rows), bias, transB=1)


def log_sum_exp(x: Tensor, left_out: Tensor | None = None) -> Tensor:
    """Over the last axis: [M, P] -> [M, 1].

    `left_out` [M] int64 is an entry of each row that is left out, if it is one of 0 to P - 1.
    """
    graph = x.graph
    highest = graph.operator("ReduceMax", x, [1])
    exponentials = graph.operator("Exp", x - highest)
    total = graph.operator("ReduceSum", exponentials, [1])
    if left_out is not None:
        entry = graph.operator("Mod", left_out, graph.operator("Shape", x, start=1, end=2))
        value = graph.operator("GatherElements", exponentials, entry[:, None], axis=1)
        is_here = graph.operator("Equal", entry, left_out)[:, None]
        rest = total - graph.operator("Where", is_here, value, 0.0)
        total = graph.operator("Max", rest, 1e-30)  # rounding may leave nothing
    return highest + graph.operator("Log", total)
