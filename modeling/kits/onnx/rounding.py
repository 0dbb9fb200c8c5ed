"""Products of matrices in 8 bits: precision int8.

Each row of inputs and each column of weights has a scale of its own, so that a score does not
depend on the other sentences of a batch. M rows, K inputs, N outputs.
"""

import numpy as np
from onnx import TensorProto

from tta.modeling.kits.onnx.graph import Tensor

# Weights are from -63 to 63: on processors without VNNI, sums of two products of larger ones, which
# have 16 bits, would be cut off.
_LARGEST_WEIGHT = 63
_LARGEST_INPUT, _ZERO = 127, 128  # inputs are from 1 to 255 and mean -127 to 127


def rounded_product(x: Tensor, name: str, kernel: np.ndarray, bias: Tensor) -> Tensor:
    """x kernel + bias, approximately: [M, K] and [K, N] -> [M, N] float32.

    `name` is that of the weight.
    """
    graph = x.graph
    scales = np.maximum(np.abs(kernel).max(axis=0), 1e-30).astype(np.float32) / _LARGEST_WEIGHT
    values = graph.weight(f"{name}:int8", np.rint(kernel / scales).astype(np.int8))
    column_scales = graph.weight(f"{name}:scales", scales)
    zero = graph.constant(np.uint8(_ZERO))
    largest = graph.operator("ReduceMax", graph.operator("Abs", x), [1], keepdims=0)
    row_scales = graph.operator("Max", largest, 1e-30) * (1.0 / _LARGEST_INPUT)  # [M]
    zeros = graph.operator("Expand", zero, graph.operator("Shape", row_scales))
    rounded = graph.operator("QuantizeLinear", x, row_scales, zeros, axis=0)
    sums = graph.operator("MatMulInteger", rounded, values, zero)
    sums = graph.operator("Cast", sums, to=TensorProto.FLOAT)
    return sums * column_scales * row_scales[:, None] + bias
