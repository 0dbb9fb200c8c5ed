"""The kit of ONNX: operators as `tta.modeling.functions.kit.Kit` says, each a node of a graph.

Tensors are `Tensor`, and weights a `Weights`. A size is [1] int64. Positions are int64.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tta.modeling.kits.onnx.graph import Tensor, operator_of
from tta.modeling.kits.onnx.weights import Weights

# Weights are from -63 to 63: on processors without VNNI, sums of two products of larger ones, which
# have 16 bits, would be cut off.
_LARGEST_WEIGHT = 63
_LARGEST_INPUT, _ZERO = 127, 128  # inputs are from 1 to 255 and mean -127 to 127


def rounded_product(x: Tensor, name: str, kernel: np.ndarray, bias: Tensor) -> Tensor:
    """x kernel + bias, approximately: [M, K] and [K, N] -> [M, N] float32.

    In 8 bits, for precision int8. `name` is that of the weight. Each row of inputs and each column
    of weights has a scale of its own, so that a score does not depend on the other sentences of a
    batch.
    """
    graph = x.graph
    values, column_scales = _rounded(graph, name, kernel, _LARGEST_WEIGHT)
    zero = graph.constant(np.uint8(_ZERO))
    largest = graph.operator("ReduceMax", graph.operator("Abs", x), [1], keepdims=0)
    row_scales = graph.operator("Max", largest, 1e-30) * (1.0 / _LARGEST_INPUT)  # [M]
    zeros = graph.operator("Expand", zero, graph.operator("Shape", row_scales))
    rounded = graph.operator("QuantizeLinear", x, row_scales, zeros, axis=0)
    sums = graph.operator("MatMulInteger", rounded, values, zero)
    sums = graph.operator("Cast", sums, to="float32")
    return sums * column_scales * row_scales[:, None] + bias


def _rounded(graph, name, kernel, largest):
    """Weights from -largest to largest, int8, and the scale of each column."""
    scales = np.maximum(np.abs(kernel).max(axis=0), 1e-30).astype(np.float32) / largest
    values = graph.weight(f"{name}:int8", np.rint(kernel / scales).astype(np.int8))
    return values, graph.weight(f"{name}:scales", scales)


class _RoundedInputs(NamedTuple):
    """The inputs [M, K] of a product in uint8: zero + inputs / step.

    Attributes:
        values: [M, K] uint8.
        step, zero: [], float32 and uint8.
    """

    values: Tensor
    step: Tensor
    zero: Tensor


# That of `tta.modeling.kits.keras`.
CENTRE_STEPS = 128.0


class OnnxKit:
    """Scoring in float32, or in int8 where the weights say so.

    Args:
        epsilon: that of every LayerNorm.
        small_logits, attention_scores: as in `tta.modeling.functions.kit.Kit`.
    """

    where, equal = staticmethod(operator_of("Where")), staticmethod(operator_of("Equal"))
    maximum, softplus = staticmethod(operator_of("Max")), staticmethod(operator_of("Softplus"))
    exp, log = staticmethod(operator_of("Exp")), staticmethod(operator_of("Log"))
    small_logits, attention_scores = False, None
    projects_together = True  # the inputs of the products are rounded once

    def __init__(
        self,
        epsilon: float = 1e-12,
        small_logits: bool = False,
        attention_scores: list[Tensor] | None = None,
    ):
        self._epsilon, self.small_logits = epsilon, small_logits
        self.attention_scores = attention_scores
        self._rounded: dict[str, _RoundedInputs] = {}

    def part(self, layer: Weights, function: Callable[..., Any], *inputs: Any, **options: Any):
        return function(*inputs, **options)

    def take(self, x: Tensor, indices: Tensor, axis: int = 0):
        return x.graph.operator("Gather", x, indices, axis=axis)

    def first(self, table: Tensor, count: Tensor):
        return table.graph.operator("Slice", table, [0], count, [0])

    def arange(self, count: Tensor):
        graph = count.graph
        return graph.operator("Range", np.int64(0), graph.operator("Squeeze", count), np.int64(1))

    def size(self, x: Tensor, axis: int):
        return x.graph.operator("Shape", x, start=axis, end=axis + 1)

    def concatenate(self, tensors: Sequence[Tensor], axis: int):
        return tensors[0].graph.operator("Concat", *tensors, axis=axis)

    def clip(self, x: Tensor, lowest: int, highest: int):
        return x.graph.operator("Clip", x, np.int64(lowest), np.int64(highest))

    def float32(self, x: Tensor):
        return x.graph.operator("Cast", x, to="float32")

    def integer(self, x: Tensor):
        return x.graph.operator("Cast", x, to="int64")

    def transpose(self, x: Tensor, axes: Sequence[int]):
        return x.graph.operator("Transpose", x, perm=axes)

    def max(self, x: Tensor, axis: int, keepdims: bool = False):
        return x.graph.operator("ReduceMax", x, [axis], keepdims=int(keepdims))

    def sum(self, x: Tensor, axis: int, keepdims: bool = False):
        return x.graph.operator("ReduceSum", x, [axis], keepdims=int(keepdims))

    def any(self, x: Tensor, axis: int, keepdims: bool = False):
        largest = self.max(x.graph.operator("Cast", x, to="int32"), axis, keepdims)
        return x.graph.operator("Cast", largest, to="bool")

    def cumsum(self, x: Tensor, axis: int):
        return x.graph.operator("CumSum", x, np.int64(axis))

    def nonzero(self, x: Tensor, step: int = 1):
        return self.flat(x.graph.operator("NonZero", x))

    def pad(self, x: Tensor, widths: Sequence[Any]):
        flat: Any = [before for before, _ in widths] + [after for _, after in widths]
        if any(isinstance(width, Tensor) for width in flat):
            constant = x.graph.constant
            parts = [n if isinstance(n, Tensor) else constant([n]) for n in flat]
            flat = self.concatenate(parts, 0)
        return x.graph.operator("Pad", x, flat)

    def softmax(self, x: Tensor):
        return x.graph.operator("Softmax", x, axis=-1)

    def rows(self, x: Tensor, positions: Tensor):
        graph = x.graph
        shape = self.concatenate([self.size(x, 0), graph.constant([1])], 0)
        indices = graph.operator("Expand", positions, shape)[:, :, None]
        return graph.operator("GatherND", x, indices, batch_dims=1)

    def columns(self, table: Tensor, indices: Tensor):
        return self.take(table, indices, axis=1)

    def flat(self, x: Tensor, *size: int):
        return x.graph.operator("Reshape", x, [-1, *size])

    def unflat(self, rows: Tensor, x: Tensor, *size: int):
        sizes = [self.size(x, 0), self.size(x, 1), *(x.graph.constant([n]) for n in size)]
        # A size of 0 is 0, not "the same".
        return x.graph.operator("Reshape", rows, self.concatenate(sizes, 0), allowzero=1)

    def width(self, x: Tensor, w: Weights):
        return w.shape("kernel")[0]

    def split_heads(self, x: Tensor, num_heads: int, size: int):
        split = x.graph.operator("Reshape", x, [0, 0, num_heads, size])
        return self.transpose(split, (0, 2, 1, 3))

    def compute(self, x: Tensor, w: Weights):
        return x

    def dense(self, rows: Tensor, w: Weights):
        """Product and bias are one operation."""
        name = f"{w.prefix}kernel"
        if product := self._in_int8(rows, w, name, w.arrays[name], w["bias"]):
            return product
        return rows.graph.operator("Gemm", rows, w["kernel"], w["bias"])

    def _in_int8(self, x, w, name, kernel, bias):
        """x kernel + bias, if it is rounded. Notes what is read, for a calibration."""
        if w.prefix in w.exact:
            return None
        of = name.partition("[")[0]
        x.graph.products.setdefault(of, x)
        if w.ranges is None:
            return None
        if of in w.ranges:
            return self._fused_product(x, name, kernel, bias, w.ranges[of])
        return rounded_product(x, name, kernel, bias)

    def _fused_product(self, x, name, kernel, bias, fixed_range):
        """As `rounded_product`, in one operation: all inputs have one scale, known before.

        Only on processors with VNNI, whose sums have 32 bits.
        """
        graph, (low, high), divisors = x.graph, fixed_range[:2], fixed_range[2:]
        if x.name not in self._rounded:
            step = max(high - low, 1e-30) / 255
            zero = np.clip(np.rint(-low / step), 0, 255).astype(np.uint8)
            scaled = x
            factors = 1.0 / np.where(divisors > 0, divisors, np.float32(np.inf))
            if not np.isin(factors, (0.0, 1.0)).all():
                scaled = x * graph.weight(f"{name}:factors", factors)
            step, zero = graph.constant(step), graph.constant(zero)
            rounded = graph.operator("QuantizeLinear", scaled, step, zero)
            self._rounded[x.name] = _RoundedInputs(rounded, step, zero)
        inputs = self._rounded[x.name]
        values, scales = _rounded(graph, name, kernel * divisors[:, None], _LARGEST_INPUT)
        product = graph.operator(
            "MatMulIntegerToFloat",
            inputs.values,
            values,
            inputs.step,
            scales,
            inputs.zero,
            Tensor(graph, ""),  # the zero of the values
            bias,
            domain="com.microsoft",
        )
        if len(apart := np.flatnonzero(divisors == 0)):
            rows = graph.weight(f"{name}:apart", kernel[apart])
            product = product + self.take(x, graph.constant(apart), 1) @ rows
        return product

    def heads(self, x: Tensor, layers: Sequence[Weights], num_heads: int):
        # One by one: weights side by side would be copies.
        heads, rows = [], self.flat(x, layers[0].shape("kernel")[0])
        for w in layers:
            _, outputs = w.shape("kernel")
            projected = self.unflat(self.dense(rows, w), x, outputs)
            heads.append(self.split_heads(projected, num_heads, outputs // num_heads))
        return heads

    def layer_norm(self, w: Weights, *terms: Tensor, magnifies: bool = False):
        x: Any = sum(terms[1:], start=terms[0])
        if magnifies:
            return self._centred_layer_norm(x, w)
        return self._layer_norm(x, w["gamma"], w["beta"])[0]

    def activation(self, x: Tensor, name: str):
        if name == "relu":
            return x.graph.operator("Relu", x)
        kinds = {"gelu": "none", "gelu_tanh": "tanh"}  # exact, by the error function; approximate
        return x.graph.operator("Gelu", x, approximate=kinds[name])

    def dropout(self, x: Tensor, w: Weights):
        return x

    def pick(self, x: Tensor, positions: Tensor):
        return x.graph.operator("GatherElements", x, positions[:, None], axis=1)[:, 0]

    def parts(self, size: int):
        return parts(size)

    def logits(
        self, features: Tensor, w: Weights, table: Tensor, bias: Tensor, start: int, stop: int
    ):
        graph, name = features.graph, table.name
        rows = graph.weights[name]
        if stop - start < len(rows):
            part = f"[{start}:{stop}]"
            name, rows = name + part, rows[start:stop]
            bias = graph.weight(bias.name + part, graph.weights[bias.name][start:stop])
        if logits := self._in_int8(features, w, name, rows.T, bias):
            return logits, None
        return graph.operator("Gemm", features, graph.weight(name, rows), bias, transB=1), None

    def _layer_norm(self, x, gamma, beta, outputs=1):
        of = {"axis": -1, "epsilon": self._epsilon}
        return x.graph.operators("LayerNormalization", x, gamma, beta, outputs=outputs, **of)

    def _centred_layer_norm(self, x: Tensor, w: Weights) -> Tensor:
        """See `tta.modeling.kits.keras.centred_layer_norm`."""
        gamma, beta = (w.arrays[w.prefix + name] for name in ("gamma", "beta"))
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.rint(-beta / gamma * CENTRE_STEPS) / CENTRE_STEPS
        if not np.square(mean).mean() < 1.0:
            return self._layer_norm(x, w["gamma"], w["beta"])[0]
        ones, zeros = np.ones_like(gamma), np.zeros_like(beta)
        normalized, _, scale = self._layer_norm(x, ones, zeros, outputs=3)
        u = normalized - mean
        error = x.graph.operator("ReduceMean", u * (u + 2.0 * mean), [-1], keepdims=1)
        error = error + scale * scale * self._epsilon - np.mean(1.0 - np.square(mean))
        return (u - error * (0.5 * mean)) * w["gamma"] + (beta + gamma * mean)


# The logits are computed in this many parts: one is in memory at a time, and stays near the core.
NUM_PARTS = 16
GROUP = 16  # sizes of parts are multiples of it, but for the last one


def parts(size: int) -> list[tuple[int, int]]:
    """As `tta.modeling.functions.kit.Kit.parts`."""
    groups = size // GROUP
    bounds = [groups * part // NUM_PARTS * GROUP for part in range(NUM_PARTS)]
    return [(start, stop) for start, stop in itertools.pairwise([*bounds, size]) if start < stop]
