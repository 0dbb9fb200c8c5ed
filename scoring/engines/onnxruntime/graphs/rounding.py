"""Products of matrices in 8 bits: precision int8.

Each row of inputs and each column of weights has a scale of its own, so that a score does not
depend on the other sentences of a batch. M rows, K inputs, N outputs.
"""

from typing import Any

import numpy as np

from tta.scoring.engines.onnxruntime.graphs.graph import Tensor

# Weights are from -63 to 63: on processors without VNNI, sums of two products of larger ones, which
# have 16 bits, would be cut off.
_LARGEST_WEIGHT = 63
_LARGEST_INPUT, _ZERO = 127, 128  # inputs are from 1 to 255 and mean -127 to 127


def magnified_products(config: Any, *encoders: str) -> tuple[str, ...]:
    """Prefixes of the weights whose products stay float32: those whose errors would be magnified.

    In each encoder, the last LayerNorm magnifies them; and the first product of the head follows.
    """
    names = "attention/output", "feed_forward/intermediate", "feed_forward/output"
    last = f"layer_{config.num_hidden_layers - 1}"
    found = [f"{encoder}/{last}/{name}/" for encoder in encoders for name in names]
    return *found, "head/transform/"


def rounded_product(x: Tensor, name: str, kernel: np.ndarray, bias: Tensor) -> Tensor:
    """x kernel + bias, approximately: [M, K] and [K, N] -> [M, N] float32.

    `name` is that of the weight.
    """
    graph = x.graph
    scales = np.maximum(np.abs(kernel).max(axis=0), 1e-30).astype(np.float32) / _LARGEST_WEIGHT
    values = graph.weight(f"{name}:int8", np.rint(kernel / scales).astype(np.int8))
    column_scales = graph.weight(f"{name}:scales", scales)
    zero = graph.constant(np.uint8(_ZERO))
    row_scales = graph.operator("Max", graph.operator("Abs", x).max(1), 1e-30)
    row_scales = row_scales * (1.0 / _LARGEST_INPUT)  # [M]
    zeros = graph.operator("Expand", zero, row_scales.size(0))
    rounded = graph.operator("QuantizeLinear", x, row_scales, zeros, axis=0)
    sums = graph.operator("MatMulInteger", rounded, values, zero).cast(np.float32)
    return sums * column_scales * row_scales.expand(1) + bias
