"""Sums over the vocabulary. M rows, D hidden size, V vocabulary.

The table of the softmax is the weight `name` of the weights `here`; `head` has the bias.
"""

import itertools

import numpy as np
from onnx import TensorProto

from tta.modeling.kits.onnx.graph import Tensor
from tta.modeling.kits.onnx.rounding import rounded_product
from tta.modeling.kits.onnx.weights import Weights

# The logits are computed in this many parts: one is in memory at a time, and stays near the core.
NUM_PARTS = 16
GROUP = 16  # sizes of parts are multiples of it, but for the last one


def log_sum_of_others(
    features: Tensor, here: Weights, name: str, head: Weights, targets: Tensor
) -> Tensor:
    """log sum exp of the logits of all pieces but the target [M]: [M, D] -> [M]."""
    graph = features.graph
    targets = graph.operator("Cast", targets, to=TensorProto.INT64)
    found = [
        log_sum_exp(logits, targets - np.int64(start))
        for start, _, logits in _logits_in_parts(features, here, name, head)
    ]
    joined = log_sum_exp(graph.operator("Concat", *found, axis=1))
    return graph.operator("Reshape", joined, [-1])


def best_pieces(
    features: Tensor, here: Weights, name: str, head: Weights, with_scores: bool
) -> tuple[Tensor, Tensor | None]:
    """The most probable pieces, one of equals: [M, D] -> [M] int32.

    The second result is their natural log-probabilities, [M, 1], or None.
    """
    graph, ids, highest, sums = features.graph, [], [], []
    for start, size, logits in _logits_in_parts(features, here, name, head):
        best = _best_column(logits, size)
        ids.append(best + np.int64(start))
        highest.append(graph.operator("GatherElements", logits, best, axis=1))
        if with_scores:
            sums.append(log_sum_exp(logits))
    logits = graph.operator("Concat", *highest, axis=1)
    part = graph.operator("ArgMax", logits, axis=1)
    found = graph.operator("GatherElements", graph.operator("Concat", *ids, axis=1), part, axis=1)
    scores = None
    if with_scores:
        total = log_sum_exp(graph.operator("Concat", *sums, axis=1))
        scores = graph.operator("ReduceMax", logits, [1]) - total
    return graph.operator("Cast", found[:, 0], to=TensorProto.INT32), scores


def _best_column(x, size):
    """The position of the largest value of each row: [M, size] -> [M, 1] int64.

    ArgMax compares one number at a time, ReduceMax many: a first look at groups of columns leaves
    ArgMax a sixteenth of the numbers.
    """
    graph = x.graph
    if size % GROUP:
        return graph.operator("ArgMax", x, axis=1)
    width = size // GROUP
    highest = graph.operator(
        "ReduceMax", graph.operator("Reshape", x, [0, GROUP, width]), [1], keepdims=0
    )
    column = graph.operator("ArgMax", highest, axis=1)  # [M, 1]
    columns = column + np.arange(GROUP) * width
    row = graph.operator("ArgMax", graph.operator("GatherElements", x, columns, axis=1), axis=1)
    return column + row * np.int64(width)


def _logits_in_parts(features, here, name, head):
    """Yields (first piece, number of pieces, logits [M, number]) of the vocabulary's parts."""
    (size, _), graph = here.shape(name), features.graph
    name, groups = here.prefix + name, size // GROUP
    bounds = [groups * part // NUM_PARTS * GROUP for part in range(NUM_PARTS)]
    for start, stop in itertools.pairwise([*bounds, size]):
        if start == stop:
            continue
        part, rows = f"[{start}:{stop}]", here.arrays[name][start:stop]
        bias = graph.weight(f"head/bias{part}", head.arrays["head/bias"][start:stop])
        if head.are_rounded:
            logits = rounded_product(features, name + part, rows.T, bias)
        else:
            kernel = graph.weight(name + part, rows)
            logits = graph.operator("Gemm", features, kernel, bias, transB=1)
        yield start, stop - start, logits


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
