"""`light.safetensors` of a model directory: what makes onnxruntime start soon and compute in int8.

It has graphs by their keys, ranges of inputs for int8, with a digest of the weights that they
belong to, and an index of `model.weights.h5`. What is missing, or belongs to another version, is
made anew, but for ranges. Anyone can compute its checksum, so every array is checked when it is
used.
"""

import hashlib
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tta.errors import InputError
from tta.modeling.formats.run_checkpoint import read_checkpoint, write_checkpoint
from tta.modeling.formats.weights import weights_index
from tta.modeling.kits.onnx.ranges import is_range_of
from tta.names import LIGHT, WEIGHTS

INDEX, _GRAPH, _RANGE = "index", "graph/", "range/"
_BY_ROW = "by_row"  # in place of products: the model was calibrated, and has no fixed ranges
_MAX_GRAPH_BYTES = 1 << 24  # unpacked; the largest of ours have 1 % of that
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
        """The graph of a key, see `Graph.key`; it is made if it is not there.

        Raises:
            InputError: the array is not a packed graph, or unpacks to more than any graph has.
        """
        name = _GRAPH + key
        if name not in self.arrays:
            graph = make()
            self.arrays[name] = np.frombuffer(zlib.compress(graph, 9), np.uint8)
            return graph
        unpacker, array = zlib.decompressobj(), self.arrays[name]
        try:
            graph = unpacker.decompress(array.tobytes(), _MAX_GRAPH_BYTES)
        except zlib.error:
            graph = b""
        if array.dtype != np.uint8 or not (graph and unpacker.eof):
            raise self.damaged(
                f"{name} is not a packed graph of at most {_MAX_GRAPH_BYTES:,} bytes"
            )
        return graph

    def ranges(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """{product: the range of its inputs} of a model with these weights, if there are any.

        Raises:
            InputError: the ranges are those of other weights, or one is no range.
        """
        stored = [name for name in self.arrays if name.startswith(_RANGE)]
        prefix = f"{_RANGE}{_digest(weights)}/" if stored else ""
        of_weights = [name for name in stored if name.startswith(prefix)]
        if stored and not of_weights:
            raise self.damaged("its ranges for int8 belong to other weights")
        ranges = {}
        for name in of_weights:
            products = name.removeprefix(prefix).split(",")
            if products == [_BY_ROW]:
                continue
            if not all(is_range_of(self.arrays[name], weights, product) for product in products):
                raise self.damaged(f"{name} is not a range of the inputs of these products")
            ranges |= dict.fromkeys(products, self.arrays[name])
        return ranges

    def add_ranges(
        self, weights: Mapping[str, np.ndarray], ranges: Mapping[tuple[str, ...], np.ndarray]
    ) -> None:
        """Adds {products that have the same inputs: their range} of a model with these weights.

        None at all says that the model computes each row in a range of its own.
        """
        prefix = f"{_RANGE}{_digest(weights)}/"
        self.arrays |= {prefix + ",".join(names): array for names, array in ranges.items()}
        if not ranges:
            self.arrays[prefix + _BY_ROW] = np.zeros(0, np.float32)

    def damaged(self, rule: str) -> InputError:
        """The error for an array that is not what it should be."""
        return InputError(f"{rule}; {_REMEDY}", self.path)

    def write(self, directory: Path) -> Path:
        """Writes the file of a model directory, with an index of its weights; returns its path."""
        if (directory / WEIGHTS).exists():
            self.arrays[INDEX] = weights_index(directory / WEIGHTS)
        write_checkpoint(directory / LIGHT, self.arrays)
        return directory / LIGHT


def _digest(weights: Mapping[str, np.ndarray]) -> str:
    """Eight hexadecimal digits of names and values: in float16, as most models are stored, or in
    float32 if a weight is too large for that.
    """
    sha256 = hashlib.sha256()
    for name, array in weights.items():
        with np.errstate(over="ignore"):
            half = array.astype(np.float16)
        sha256.update(name.encode() + (half if np.isfinite(half).all() else array).tobytes())
    return sha256.hexdigest()[:8]
