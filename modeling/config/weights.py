"""The weights of a model, written once: names, shapes and initial values.

`ModelConfig.weights` is the table of a model. Its layers, the readers of its files, other engines
and `num_parameters` ask it. Here are the tables of layers that several families have. A table lists
the weights of a layer before those of its parts, because this is the order in Keras.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias


class Weight(NamedTuple):
    """A weight.

    Attributes:
        shape: its shape.
        initializer: the standard deviation of a truncated normal around 0, the name of an
            initializer of Keras, or "unit_forget_bias": of an LSTM, 1 for the forget gate, else 0.
    """

    shape: tuple[int, ...]
    initializer: float | str = "zeros"


class Dropout(NamedTuple):
    """A place of dropout in training; it has no weights.

    Attributes:
        rate: the share that is dropped.
    """

    rate: float


# {name: a `Weight`, a `Dropout`, or the table of the part of this name}.
WeightTable: TypeAlias = dict[str, Any]


class LayerTable(dict[str, Any]):
    """The `WeightTable` of a part that is a public layer in Keras.

    Attributes:
        layer: the place "module:class" of the layer.
        arguments: those of its constructor.
    """

    def __init__(self, layer: str, table: WeightTable, **arguments: Any):
        super().__init__(table)
        self.layer, self.arguments = layer, arguments


def named(table: WeightTable, prefix: str = "") -> Iterator[tuple[str, Weight]]:
    """Yields ("encoder/embeddings/token_table", its `Weight`) and all others in their order."""
    for name, item in table.items():
        if isinstance(item, Weight):
            yield prefix + name, item
        elif not isinstance(item, Dropout):
            yield from named(item, f"{prefix}{name}/")


def count(table: WeightTable) -> int:
    """The numbers in all weights of a table."""
    return sum(math.prod(weight.shape) for _, weight in named(table))


def dense(inputs: int, outputs: int, start: float | str, bias: str = "zeros") -> WeightTable:
    """A dense layer; `start` and `bias` are initializers of `Weight`."""
    return {"kernel": Weight((inputs, outputs), start), "bias": Weight((outputs,), bias)}


def layer_norm(size: int) -> WeightTable:
    """A LayerNorm."""
    return {"gamma": Weight((size,), "ones"), "beta": Weight((size,))}


def add_norm(size: int, dropout: float) -> WeightTable:
    """The end of a sub-layer, see `tta.modeling.functions.layers.add_norm`."""
    return {"norm": layer_norm(size), "drop": Dropout(dropout)}


def attention(
    size: int, num_heads: int, start: float, max_relative_distance: int, dropout: float
) -> WeightTable:
    """The layer `MaskedAttention`, whose arguments these are, for D = `size`."""
    table: WeightTable = {}
    if max_relative_distance:
        table["relative_bias"] = Weight((num_heads, 2 * max_relative_distance + 1))
    parts = ("query", "key", "value", "output")
    table |= {name: dense(size, size, start) for name in parts}
    return table | {"drop": Dropout(dropout)}


def feed_forward(size: int, width: int, start: float) -> WeightTable:
    """Two dense layers, from `size` to `width` and back (paper, equation 1)."""
    return {"intermediate": dense(size, width, start), "output": dense(width, size, start)}
