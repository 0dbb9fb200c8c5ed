"""Builds ONNX graphs in the style of NumPy: tensors with operators, and functions of tensors.

The weights stay outside of the graph, so that it is small. `onnx`, which takes long to import, is
needed to write a graph only.
"""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Gelu is part of it. onnxruntime 1.18 and later read both.
OPSET, IR_VERSION = 20, 9
# Raise it if `Graph.model` writes the same nodes in another way.
_WRITER = 1
_END = np.iinfo(np.int64).max


class Graph:
    """The nodes, inputs, outputs and constants of a graph that grows as functions are called.

    Attributes:
        weights: {name: array}.
        products: {name of a weight: the input of its product}, of those that int8 rounds.
    """

    def __init__(self):
        self.weights: dict[str, np.ndarray] = {}
        self.products: dict[str, Tensor] = {}
        self._nodes: list[tuple[str, list[str], list[str], dict[str, Any]]] = []
        self._inputs: list[tuple[str, str, Any]] = []  # name, dtype, shape
        self._outputs: list[tuple[str, str]] = []
        self._constants: dict[tuple[bytes, Any, str], str] = {}  # bytes, shape, dtype: name

    def input(self, name: str, dtype: type, shape: Sequence[str | int]) -> "Tensor":
        """An input; a size that has a name may be any number."""
        self._inputs.append((name, np.dtype(dtype).name, list(shape)))
        return Tensor(self, name)

    def output(self, name: str, value: "Tensor", dtype: type = np.float32) -> "Graph":
        """Makes a tensor of a type an output; returns the graph, without weights that are not read.

        onnxruntime has no place for the values of such weights.
        """
        read = {name for _, inputs, *_ in self._nodes for name in inputs}
        self.weights = {weight: array for weight, array in self.weights.items() if weight in read}
        self._nodes.append(("Identity", [value.name], [name], {}))
        self._outputs.append((name, np.dtype(dtype).name))
        return self

    def weight(self, name: str, array: np.ndarray) -> "Tensor":
        """A weight, whose values stay in `weights`."""
        self.weights[name] = array
        return Tensor(self, name)

    def constant(self, value: Any) -> "Tensor":
        """A number or a small array: floats become float32, integers int64."""
        array = np.asarray(value)
        if array.dtype.kind in "fi":  # others, such as bool and uint8, stay
            array = array.astype("float32" if array.dtype.kind == "f" else "int64")
        key = array.tobytes(), array.shape, array.dtype.name
        return Tensor(self, self._constants.setdefault(key, f"constant_{len(self._constants)}"))

    def operators(
        self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any
    ) -> "list[Tensor]":
        """Adds a node of any operator of ONNX; returns its outputs. Inputs may be numbers.

        The attribute `to` is the name of a type of NumPy.
        """
        tensors = [x if isinstance(x, Tensor) else self.constant(x) for x in inputs]
        names = [f"{kind}_{len(self._nodes)}_{i}" for i in range(outputs)]
        self._nodes.append((kind, [x.name for x in tensors], names, attributes))
        return [Tensor(self, name) for name in names]

    def operator(self, kind: str, *inputs: Any, **attributes: Any) -> "Tensor":
        """As `operators`, for an operator with one output."""
        return self.operators(kind, *inputs, **attributes)[0]

    def weights_of(self, *kinds: str) -> dict[str, np.ndarray]:
        """The weights that operators of these kinds read; without kinds, all that are read."""
        read = [inputs for kind, inputs, *_ in self._nodes if not kinds or kind in kinds]
        names = dict.fromkeys(name for inputs in read for name in inputs)
        return {name: self.weights[name] for name in names if name in self.weights}

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs, without weights that are fed."""
        return [name for name, *_ in self._inputs]

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs."""
        return [name for name, _ in self._outputs]

    def key(self, fed: Collection[str] = ()) -> str:
        """What `model` depends on, as 32 hexadecimal digits."""
        weights = [(n, a.dtype.name, a.shape) for n, a in self.weights_of().items()]
        content = self._nodes, self._inputs, self._outputs, self._constants, weights, [*fed]
        return hashlib.sha256(repr((_WRITER, OPSET, IR_VERSION, content)).encode()).hexdigest()[:32]

    def model(self, fed: Collection[str] = ()) -> Any:
        """The graph, a `ModelProto`. The caller supplies each weight by its name.

        Those that are `fed` are inputs, the others external data: onnxruntime copies external data,
        and reads inputs where they are.
        """
        from onnx import TensorProto, helper, numpy_helper

        def kind(dtype):
            return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

        def value(name, dtype, shape=None):
            return helper.make_tensor_value_info(name, kind(dtype), shape)

        def node(name, inputs, outputs, attributes: dict[str, Any]):
            if "to" in attributes:
                attributes = {"to": kind(attributes["to"])}
            return helper.make_node(name, inputs, outputs, **attributes)

        def external(name, array):
            place = TensorProto.EXTERNAL
            of = {"data_type": kind(array.dtype), "dims": array.shape, "data_location": place}
            tensor = TensorProto(name=name, **of)
            tensor.external_data.add(key="location", value=name)
            return tensor

        weights = self.weights_of()
        tables = [(name, weights[name].dtype, weights.pop(name).shape) for name in fed]
        constants = [
            numpy_helper.from_array(np.frombuffer(data, dtype).reshape(shape), name)
            for (data, shape, dtype), name in self._constants.items()
        ]
        graph = helper.make_graph(
            [node(*arguments) for arguments in self._nodes],
            "tta",
            [value(*arguments) for arguments in (*self._inputs, *tables)],
            [value(*arguments) for arguments in self._outputs],
            [*constants, *(external(*arguments) for arguments in weights.items())],
        )
        domains = {of.get("domain", "") for *_, of in self._nodes}
        opsets = [helper.make_opsetid(name, 1 if name else OPSET) for name in sorted(domains)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def operator_of(kind: str) -> Any:
    """A function of tensors that adds an operator to the graph of the first one."""
    return lambda first, *others: first.graph.operator(kind, first, *others)


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor of a graph. Operators broadcast as NumPy's do; the other operand may be a number."""

    graph: Graph
    name: str

    __add__ = __radd__ = operator_of("Add")
    __sub__ = operator_of("Sub")
    __mul__ = __rmul__ = operator_of("Mul")
    __matmul__ = operator_of("MatMul")
    __lt__, __le__ = operator_of("Less"), operator_of("LessOrEqual")
    __gt__, __ge__ = operator_of("Greater"), operator_of("GreaterOrEqual")
    __and__, __invert__ = operator_of("And"), operator_of("Not")

    def __getitem__(self, index: Any) -> "Tensor":
        """As NumPy's, of slices of step 1, numbers and None."""
        result, axis = self, 0
        for part in index if isinstance(index, tuple) else (index,):
            if part is None:
                result = self.graph.operator("Unsqueeze", result, [axis])
            elif isinstance(part, int):
                result = self.graph.operator("Gather", result, np.int64(part), axis=axis)
                continue
            elif part != slice(None):
                start, stop = part.start or 0, _END if part.stop is None else part.stop
                result = self.graph.operator("Slice", result, [start], [stop], [axis])
            axis += 1
        return result
