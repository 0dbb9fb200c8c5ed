"""`light.safetensors` of a model directory: what makes onnxruntime start soon and compute in int8.

It has graphs by their keys, ranges of inputs for int8, with a digest of the weights that they
belong to, and an index of `model.weights.h5`. What is missing, or belongs to another version, is
made anew, but for ranges.
"""

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tta.errors import InputError
from tta.modeling.formats.run_checkpoint import read_checkpoint, write_checkpoint
from tta.modeling.formats.weights import weights_index
from tta.names import LIGHT, WEIGHTS

INDEX, _GRAPH, _RANGE = "index", "graph/", "range/"
_REMEDY = "tta calibrate writes the file anew, and models work without it"


class LightFile:
    """The arrays of the file of a model directory by name; none without a directory or a file.

    Raises:
        InputError: the file is damaged.
    """

    def __init__(self, directory: Path | str | None = None):
        self.path, self.arrays = Path(directory or "") / LIGHT, dict[str, np.ndarray]()
        if directory is not None and self.path.exists():
            try:
                self.arrays = read_checkpoint(self.path)
            except InputError as error:
                raise InputError(f"{error.rule}; {_REMEDY}", self.path) from None

    def graph(self, key: str, make: Callable[[], bytes]) -> bytes:
        """The graph of a key, see `Graph.key`; it is made if it is not there."""
        name = _GRAPH + key
        if name not in self.arrays:
            self.arrays[name] = np.frombuffer(zlib.compress(make(), 9), np.uint8)
        return zlib.decompress(self.arrays[name].tobytes())

    def ranges(self, digest: str) -> dict[str, np.ndarray]:
        """{product: the range of its inputs} of weights with this digest, if there are any.

        Raises:
            InputError: the ranges are those of other weights.
        """
        found, prefix = {}, f"{_RANGE}{digest}/"
        for name, array in self.arrays.items():
            if name.startswith(prefix):
                found |= dict.fromkeys(name.removeprefix(prefix).split(","), array)
        if not found and any(name.startswith(_RANGE) for name in self.arrays):
            raise InputError(f"its ranges for int8 belong to other weights; {_REMEDY}", self.path)
        return found

    def add_ranges(self, digest: str, ranges: Mapping[tuple[str, ...], np.ndarray]) -> None:
        """Adds {products that have the same inputs: their range}."""
        self.arrays |= {f"{_RANGE}{digest}/{','.join(n)}": array for n, array in ranges.items()}

    def write(self, directory: Path) -> Path:
        """Writes the file of a model directory, with an index of its weights; returns its path."""
        if (directory / WEIGHTS).exists():
            self.arrays[INDEX] = weights_index(directory / WEIGHTS)
        write_checkpoint(directory / LIGHT, self.arrays)
        return directory / LIGHT
