"""The vocabulary in parts, as ONNX computes it best. M rows, D hidden size, V vocabulary."""

import itertools

import numpy as np
from onnx import TensorProto

from tta.modeling.functions.heads import log_sum_exp
from tta.modeling.kits.onnx.graph import Tensor
from tta.modeling.kits.onnx.weights import Weights

# The logits are computed in this many parts: one is in memory at a time, and stays near the core.
NUM_PARTS = 16
GROUP = 16  # sizes of parts are multiples of it, but for the last one


def parts(size: int) -> list[tuple[int, int]]:
    """As `tta.modeling.kits.base.Kit.parts`."""
    groups = size // GROUP
    bounds = [groups * part // NUM_PARTS * GROUP for part in range(NUM_PARTS)]
    return [(start, stop) for start, stop in itertools.pairwise([*bounds, size]) if start < stop]


def best_pieces(
    k, features: Tensor, w: Weights, table: Tensor, num_pieces: int, with_scores: bool
) -> tuple[Tensor, Tensor | None]:
    """The most probable pieces, one of equals: [M, D] -> [M] int32.

    The second result is their natural log-probabilities, [M, 1], or None. `w` are the weights of
    the head, `table` is that of the softmax.
    """
    graph, ids, highest, sums = features.graph, [], [], []
    for start, stop in k.parts(num_pieces):
        logits, _ = k.logits(features, w, table, w["bias"], start, stop)
        best = _best_column(logits, stop - start)
        ids.append(best + np.int64(start))
        highest.append(graph.operator("GatherElements", logits, best, axis=1))
        if with_scores:
            sums.append(log_sum_exp(k, logits))
    logits = k.concatenate(highest, 1)
    part = graph.operator("ArgMax", logits, axis=1)
    found = graph.operator("GatherElements", k.concatenate(ids, 1), part, axis=1)
    scores = None
    if with_scores:
        scores = k.max(logits, 1, keepdims=True) - log_sum_exp(k, k.concatenate(sums, 1))
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
