"""`light.safetensors` of a model directory: what makes onnxruntime start soon and compute in int8.

It has graphs by their keys, the ranges of inputs for int8, with a checksum of the weights that they
belong to, and an index of `model.weights.h5`. What is missing, or belongs to another version, is
made anew, but for ranges.
"""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tta.errors import InputError
from tta.modeling.formats.run_checkpoint import checksum, read_checkpoint, write_checkpoint
from tta.modeling.formats.weights import weights_index
from tta.modeling.kits.onnx.ranges import InputRange
from tta.names import LIGHT, WEIGHTS

_GRAPH, _RANGE, _INDEX = "graph/", "range/", "index"


class LightFile:
    """The arrays of the file by name; none if there is no file."""

    def __init__(self, arrays: Mapping[str, np.ndarray], path: Path | None = None):
        self._arrays, self._path = dict(arrays), path

    @classmethod
    def of(cls, directory: Path | str) -> "LightFile":
        """That of a model directory. Raises InputError if it is damaged."""
        path = Path(directory) / LIGHT
        return cls(read_checkpoint(path) if path.exists() else {}, path)

    @property
    def index(self) -> dict[str, Any] | None:
        """As `weights_index`."""
        return json.loads(self._arrays[_INDEX].tobytes()) if _INDEX in self._arrays else None

    def graph(self, key: str) -> bytes | None:
        """The graph of a key, see `Graph.key`."""
        found = self._arrays.get(_GRAPH + key)
        return None if found is None else zlib.decompress(found.tobytes())

    def ranges(self, weights: Mapping[str, np.ndarray]) -> dict[str, InputRange]:
        """{product: the range of its inputs} of a model with these weights, if it was calibrated.

        Raises:
            InputError: the ranges are those of other weights.
        """
        found, own = {}, _range_prefix(weights)
        stored = [name for name in self._arrays if name.startswith(_RANGE)]
        if stored and not any(name.startswith(own) for name in stored):
            rule = "its ranges for int8 belong to other weights; tta calibrate makes them anew"
            raise InputError(rule, self._path)
        for name in stored:
            if name.startswith(own):
                (low, high, count), row = self._arrays[name][:3], self._arrays[name][3:]
                apart, smoothing = np.split(row, [int(count)])
                given = InputRange(
                    float(low),
                    float(high),
                    smoothing if len(smoothing) else None,
                    apart.astype(np.int64) if count else None,
                )
                found |= dict.fromkeys(name.removeprefix(own).split(","), given)
        return found

    def add_ranges(
        self, weights: Mapping[str, np.ndarray], ranges: Mapping[tuple[str, ...], InputRange]
    ) -> None:
        """Adds {products that have the same inputs: their range}."""
        for names, one in ranges.items():
            apart, smoothing = (() if x is None else x for x in (one.apart, one.smoothing))
            row = np.array([one.low, one.high, len(apart), *apart, *smoothing], np.float32)
            self._arrays[_range_prefix(weights) + ",".join(names)] = row

    def add_graphs(self, graphs: Mapping[str, bytes]) -> None:
        """Adds {key: graph}."""
        for key, graph in graphs.items():
            self._arrays[_GRAPH + key] = np.frombuffer(zlib.compress(graph, 9), np.uint8)

    def write(self, directory: Path) -> None:
        """Writes the file of a model directory, with an index of its weights."""
        if (directory / WEIGHTS).exists():
            index = json.dumps(weights_index(directory / WEIGHTS)).encode()
            self._arrays[_INDEX] = np.frombuffer(index, np.uint8)
        write_checkpoint(directory / LIGHT, self._arrays)


def _range_prefix(weights):
    return f"{_RANGE}{int(checksum(weights)[0]):08x}/"
