"""Builds ONNX graphs in the style of NumPy: tensors with operators, and functions of tensors.

The weights stay outside of the graph, so that it is small and no weight is copied.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

# Gelu is part of it. onnxruntime 1.18 and later read both.
OPSET, IR_VERSION = 20, 9


class Graph:
    """The nodes, inputs, outputs and constants of a graph that grows as functions are called."""

    def __init__(self):
        self.weights: dict[str, np.ndarray] = {}
        self._nodes: list[NodeProto] = []
        self._inputs: list[ValueInfoProto] = []
        self._outputs: list[ValueInfoProto] = []
        self._constants: dict[tuple[Any, ...], TensorProto] = {}

    def input(self, name: str, dtype: type, shape: Sequence[str | int]) -> "Tensor":
        """An input; a size that has a name may be any number."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return Tensor(self, name)

    def output(self, name: str, value: "Tensor", dtype: type = np.float32) -> None:
        """Makes a tensor of a type an output."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, kind, None))

    def weight(self, name: str, array: np.ndarray) -> "Tensor":
        """A weight, whose values stay in `weights`."""
        self.weights[name] = array
        return Tensor(self, name)

    def constant(self, value: Any) -> "Tensor":
        """A number or a small array: floats become float32, integers int64."""
        array = np.asarray(value)
        if array.dtype.kind in "fi":  # others, such as bool and uint8, stay
            array = array.astype("float32" if array.dtype.kind == "f" else "int64")
        key = array.tobytes(), array.shape, array.dtype
        if key not in self._constants:
            name = f"constant_{len(self._constants)}"
            self._constants[key] = numpy_helper.from_array(array, name)
        return Tensor(self, self._constants[key].name)

    def operators(
        self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any
    ) -> "list[Tensor]":
        """Adds a node of any operator of ONNX; returns its outputs. Inputs may be numbers."""
        given = [x if isinstance(x, Tensor) else self.constant(x) for x in inputs]
        names = [f"{kind}_{len(self._nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(kind, [x.name for x in given], names, **attributes)
        self._nodes.append(node)
        return [Tensor(self, name) for name in names]

    def operator(self, kind: str, *inputs: Any, **attributes: Any) -> "Tensor":
        """As `operators`, for an operator with one output."""
        return self.operators(kind, *inputs, **attributes)[0]

    def model(self) -> ModelProto:
        """The graph. Each weight is external data, which the caller supplies by its name."""
        weights = [_external(name, array) for name, array in self.weights.items()]
        graph = helper.make_graph(
            self._nodes,
            "tta",
            self._inputs,
            self._outputs,
            [*self._constants.values(), *weights],
        )
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def _external(name, array):
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    tensor = TensorProto(name=name, data_type=kind, dims=array.shape)
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=name)
    return tensor


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a graph. Operators broadcast as NumPy's do; the other operand may be a number."""

    graph: Graph
    name: str

    def __add__(self, other: Any) -> "Tensor":
        return self.graph.operator("Add", self, other)

    def __sub__(self, other: Any) -> "Tensor":
        return self.graph.operator("Sub", self, other)

    def __mul__(self, other: Any) -> "Tensor":
        return self.graph.operator("Mul", self, other)

    __radd__, __rmul__ = __add__, __mul__

    def __matmul__(self, other: Any) -> "Tensor":
        return self.graph.operator("MatMul", self, other)

    def __lt__(self, other: Any) -> "Tensor":
        return self.graph.operator("Less", self, other)

    def __le__(self, other: Any) -> "Tensor":
        return self.graph.operator("LessOrEqual", self, other)

    def __gt__(self, other: Any) -> "Tensor":
        return self.graph.operator("Greater", self, other)

    def __ge__(self, other: Any) -> "Tensor":
        return self.graph.operator("GreaterOrEqual", self, other)

    def equals(self, other: Any) -> "Tensor":
        """Elementwise `==`, bool."""
        return self.graph.operator("Equal", self, other)

    def __and__(self, other: Any) -> "Tensor":
        return self.graph.operator("And", self, other)

    def __invert__(self) -> "Tensor":
        return self.graph.operator("Not", self)

    def cast(self, dtype: type) -> "Tensor":
        """The values as another type."""
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.graph.operator("Cast", self, to=kind)

    def size(self, axis: int) -> "Tensor":
        """The length of an axis, 0 or more: [1] int64."""
        return self.graph.operator("Shape", self, start=axis, end=axis + 1)

    def reshape(self, *sizes: Any) -> "Tensor":
        """Another shape; a size is a number, -1 for the rest, 0 for the same, or a [1] int64.

        With a [1] int64, which may be 0, no size is "the same".
        """
        if all(isinstance(size, int) for size in sizes):
            return self.graph.operator("Reshape", self, sizes)
        parts = [s if isinstance(s, Tensor) else self.graph.constant([s]) for s in sizes]
        return self.graph.operator("Reshape", self, concatenate(parts, 0), allowzero=1)

    def expand(self, axis: int) -> "Tensor":
        """A new axis of length 1."""
        return self.graph.operator("Unsqueeze", self, [axis])

    def transpose(self, *axes: int) -> "Tensor":
        """Another order of the axes."""
        return self.graph.operator("Transpose", self, perm=axes)

    def slice(self, axis: int, start: int, stop: int = np.iinfo(np.int64).max) -> "Tensor":
        """start:stop of an axis."""
        return self.graph.operator("Slice", self, [start], [stop], [axis])

    def take(self, indices: Any, axis: int = 0) -> "Tensor":
        """The entries of an axis at indices, of int32 or int64."""
        return self.graph.operator("Gather", self, indices, axis=axis)

    def clip(self, lowest: int, highest: int) -> "Tensor":
        """Values of int64 between two bounds."""
        return self.graph.operator("Clip", self, np.int64(lowest), np.int64(highest))

    def pad(self, widths: Sequence[tuple[int, int]]) -> "Tensor":
        """Zeros, False or 0 before and after each axis, as many as in (before, after)."""
        flat = [before for before, _ in widths] + [after for _, after in widths]
        return self.graph.operator("Pad", self, flat)

    def sum(self, axis: int, keepdims: bool = False) -> "Tensor":
        """The sum over an axis."""
        return self.graph.operator("ReduceSum", self, [axis], keepdims=int(keepdims))

    def mean(self, axis: int, keepdims: bool = False) -> "Tensor":
        """The mean over an axis."""
        return self.graph.operator("ReduceMean", self, [axis], keepdims=int(keepdims))

    def max(self, axis: int, keepdims: bool = False) -> "Tensor":
        """The largest value over an axis."""
        return self.graph.operator("ReduceMax", self, [axis], keepdims=int(keepdims))

    def argmax(self, axis: int) -> "Tensor":
        """The position of the largest value over an axis, the first of equals: int32."""
        return self.graph.operator("ArgMax", self, axis=axis, keepdims=0).cast(np.int32)

    def any(self, axis: int, keepdims: bool = False) -> "Tensor":
        """Whether a bool is True over an axis."""
        return self.cast(np.int32).max(axis, keepdims) > self.graph.constant(0).cast(np.int32)

    def positions(self) -> "Tensor":
        """The indices of the True entries of a one-dimensional bool: int64."""
        return self.graph.operator("NonZero", self).reshape(-1)


def concatenate(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Joins tensors along an axis."""
    return tensors[0].graph.operator("Concat", *tensors, axis=axis)


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """x where the condition holds, else y."""
    return condition.graph.operator("Where", condition, x, y)


def arange(length: Tensor) -> Tensor:
    """0, 1, ... below a length, [1] int64: int64."""
    graph = length.graph
    return graph.operator("Range", np.int64(0), graph.operator("Squeeze", length), np.int64(1))


def softmax(x: Tensor) -> Tensor:
    """The softmax over the last axis."""
    return x.graph.operator("Softmax", x, axis=-1)


def cumsum(x: Tensor, axis: int) -> Tensor:
    """Cumulative sums along an axis."""
    return x.graph.operator("CumSum", x, np.int64(axis))


def spread(x: Tensor, is_there: Tensor, axis: int, rank: int) -> Tensor:
    """Puts the entries of an axis where `is_there` [n] bool is True, and zeros elsewhere."""
    positions = where(is_there, cumsum(is_there.cast(np.int64), 0), np.int64(0))
    return x.pad([(int(i == axis), 0) for i in range(rank)]).take(positions, axis)
