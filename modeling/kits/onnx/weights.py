"""The weights of a model by name, and the part of them that a layer uses."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tta.modeling.kits.onnx.graph import Graph, Tensor


class Arrays:
    """A model as its config and float32 arrays; the weights are read into it.

    Attributes:
        config: a `ModelConfig`.
        arrays: {name: array}.
    """

    def __init__(self, config: Any):
        self.config = config
        self.arrays: dict[str, np.ndarray] = {}

    def named_weights(self) -> dict[str, np.ndarray]:
        """The arrays."""
        return self.arrays

    def assign(self, values: Iterable[tuple[str, np.ndarray]]) -> None:
        """Takes (name, array) pairs."""
        self.arrays.update(values)


@dataclass(frozen=True)
class Weights:
    """Some weights of a model, as tensors of a graph.

    Attributes:
        graph: the graph.
        arrays: {full name: float32 array} of all weights.
        prefix: what the names of these begin with.
        exact: prefixes of the weights whose products are float32 in every precision.
        ranges: {full name: range of the inputs} of products in int8, see `ranges.py`. Those without
            one have a scale for each row. None computes all in float32.
    """

    graph: Graph
    arrays: Mapping[str, np.ndarray]
    prefix: str = ""
    exact: Collection[str] = ()
    ranges: Mapping[str, np.ndarray] | None = None

    def of(self, layer: str) -> "Weights":
        """The weights of a part."""
        return replace(self, prefix=f"{self.prefix}{layer}/")

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a weight."""
        return self.arrays[self.prefix + name].shape

    def __getitem__(self, name: str) -> Tensor:
        return self.graph.weight(self.prefix + name, self.arrays[self.prefix + name])
