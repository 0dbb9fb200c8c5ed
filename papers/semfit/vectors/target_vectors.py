"""The vectors that a SemFit model learns to predict: a folder with `vectors.npy` and `vocab.txt`.

`vectors.npy` has one row per line of `vocab.txt`. It stays on disk and is mapped into memory, so
that only the rows of a batch are read. A row of zeros stands for a token without a vector.

V vocabulary, m dimensions of a vector.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tta.checked_files import reading
from tta.data.text.files import file_digest
from tta.data.vocabulary.load import AnyVocabulary
from tta.errors import InputError
from tta.names import VECTORS, VOCABULARY

DTYPES = ("float16", "float32")
MAX_SIZE = 100_000  # dimensions of a vector
_BLOCK_BYTES = 1 << 24


class TargetVectors:
    """The target vectors of a vocabulary, mapped into memory.

    Args:
        directory: the folder; a model directory of a SemFit model is one, too.
        vocabulary: the vocabulary of the model.

    Attributes:
        path: the file.
        array: [V, m] float16 or float32, read-only.
        size: m.

    Raises:
        InputError: a file is missing or damaged, the vectors belong to another vocabulary, or they
            are not a matrix of float16 or float32 numbers.
    """

    def __init__(self, directory: Path | str, vocabulary: AnyVocabulary):
        self.path = Path(directory) / VECTORS
        self.array = map_vectors(self.path)
        self._vocabulary = vocabulary
        theirs = type(vocabulary).from_file(Path(directory) / VOCABULARY)
        if theirs.tokens != vocabulary.tokens:
            of = f" {vocabulary.path}" if vocabulary.path else ""
            raise InputError(f"another vocabulary than the model's{of}", theirs.path)
        if len(self.array) != len(vocabulary):
            raise InputError(
                f"it has {len(self.array):,} vectors, and {VOCABULARY} has {len(vocabulary):,} "
                "tokens",
                self.path,
            )
        self.size = self.array.shape[1]

    def check_values(self) -> None:
        """Reads all vectors. Raises InputError if a number is not finite, or all are 0."""
        check_vectors(self.array, self.path, lambda row: repr(self._vocabulary.tokens[row]))

    @cached_property
    def digest(self) -> str:
        """A hash of the file, as `tta.data.text.files.file_digest`."""
        return file_digest(self.path)

    def look_up(self, ids: Any) -> Any:
        """The vectors of ids, inside a TensorFlow graph or not: [B, T] int32 -> [B, T, m]."""
        return look_up(lambda numbers: self.array[numbers], ids, self.array.dtype, self.size)


class NewWordVectors:
    """Makes the vectors of words that a table lacks, from their letters.

    N words, m dimensions.

    Attributes:
        path: of the file with the numbers.
        size: m.
    """

    path: Path
    size: int

    def vectors(self, words: Sequence[str]) -> np.ndarray:
        """The vectors of words: [N, m] float32."""
        raise NotImplementedError

    def check_values(self) -> None:
        """Reads all numbers that were not read yet. Raises InputError if one is not finite."""

    @cached_property
    def digest(self) -> str:
        """A hash of the files."""
        return file_digest(self.path)

    def check_size(self, size: int) -> None:
        """Raises InputError unless its vectors have as many dimensions as those of words."""
        if self.size != size:
            rule = f"its vectors have {self.size} numbers, but those of words have {size}"
            raise InputError(rule, self.path)


def look_up(rows: Callable[[np.ndarray], np.ndarray], ids: Any, dtype: Any, size: int) -> Any:
    """Calls a NumPy function of ids inside a TensorFlow graph or not: [B, T] -> [B, T, size]."""
    if isinstance(ids, np.ndarray):
        return rows(ids)
    import tensorflow as tf

    vectors = tf.numpy_function(rows, [ids], dtype, stateful=False)
    vectors.set_shape([*ids.shape, size])
    return vectors


def write_vectors(file: Any, array: np.ndarray, path: Path | str) -> None:
    """Writes vectors [V, m] in float16; InputError, of `path`, if it cannot hold a number."""
    with np.errstate(over="ignore"):
        array = array.astype(np.float16)
    if not np.isfinite(array).all():
        raise InputError("a vector has a number that float16 cannot hold", path)
    np.save(file, array, allow_pickle=False)


def check_vectors(array: np.ndarray, path: Path, name_of: Callable[[int], str]) -> None:
    """Raises InputError if all vectors [V, m] are 0, or that of `name_of(row)` is not finite."""
    has_value = False
    rows = max(1, _BLOCK_BYTES // array[0].nbytes)
    for start in range(0, len(array), rows):
        block = array[start : start + rows]
        good = np.isfinite(block).all(axis=1)
        if not good.all():
            name = name_of(start + int(np.argmin(good)))
            raise InputError(f"the vector of {name} is not finite", path)
        has_value = has_value or bool(block.any())
    if not has_value:
        raise InputError("all vectors are zero", path)


def map_vectors(path: Path) -> np.ndarray:
    """Maps a file of vectors [V, m], float16 or float32, into memory, read-only.

    Raises InputError if the file is missing or damaged, or not such a matrix.
    """
    missing = "no such file; tta create-vectors writes it"
    # NumPy parses the header as Python, so errors of many kinds may follow.
    with reading("not a readable NumPy file", path, Exception, missing=missing):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.memmap):  # an archive of arrays
        raise InputError("expected one NumPy array", path)
    if array.dtype.name not in DTYPES or not array.dtype.isnative:
        raise InputError(f"vectors must be {' or '.join(DTYPES)}, not {array.dtype}", path)
    if array.ndim != 2 or not 1 <= array.shape[1] <= MAX_SIZE or not len(array):
        shape = list(array.shape)
        raise InputError(f"expected vectors of 1 to {MAX_SIZE:,} numbers, got shape {shape}", path)
    return array
