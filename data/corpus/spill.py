"""Shuffles more than memory holds: sentences go to files at random, then each file is shuffled.

The two steps together are a uniform shuffle.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

PART_BYTES = 32 << 20  # shuffled in memory at once; a larger spill is split into parts first
BLOCK_SENTENCES = 8192


class Spill:
    """Unshuffled sentences of one shard, in two files of numbers whose names start with `path`."""

    def __init__(self, path: Path | str):
        self._path = path
        self._ids, self._lengths = Path(f"{path}.ids"), Path(f"{path}.lengths")

    def append(self, ids: np.ndarray, lengths: np.ndarray) -> None:
        """Adds N sentences: their ids, int32 [sum of lengths], and lengths, int32 [N]."""
        # Opened for each call, because there may be more spills than a process may have open files.
        with open(self._ids, "ab") as ids_file, open(self._lengths, "ab") as lengths_file:
            ids_file.write(ids.tobytes())
            lengths_file.write(lengths.tobytes())

    def shuffled(self, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yields (ids, lengths) of blocks of sentences in random order; deletes the files."""
        for part in self._parts(rng):
            ids, lengths = part._read()
            starts = np.cumsum(lengths) - lengths
            order = rng.permutation(len(lengths))
            for block in np.array_split(order, len(order) // BLOCK_SENTENCES + 1):
                yield take_runs(ids, starts[block], lengths[block]), lengths[block]

    def _read(self):
        if not self._ids.exists():  # The spill has no sentence.
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        content = np.fromfile(self._ids, np.int32), np.fromfile(self._lengths, np.int32)
        self._remove()
        return content

    def _parts(self, rng):
        """The spill, or if it is too large for memory, smaller ones with its sentences."""
        size = self._ids.stat().st_size if self._ids.exists() else 0
        count = -(-size // PART_BYTES)
        if count <= 1:
            return [self]
        parts = [Spill(f"{self._path}-{i}") for i in range(count)]
        with open(self._ids, "rb") as ids_file, open(self._lengths, "rb") as lengths_file:
            while len(lengths := np.fromfile(lengths_file, np.int32, BLOCK_SENTENCES)):
                ids = np.fromfile(ids_file, np.int32, int(lengths.sum()))
                starts = np.cumsum(lengths) - lengths
                owner = rng.integers(count, size=len(lengths))
                for i, part in enumerate(parts):
                    mine = owner == i
                    part.append(take_runs(ids, starts[mine], lengths[mine]), lengths[mine])
        self._remove()
        return parts

    def _remove(self):
        self._ids.unlink()
        self._lengths.unlink()


def take_runs(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Concatenates the runs values[start : start + length]; starts and lengths are [N] ints."""
    offsets = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return values[offsets + np.arange(len(offsets))]
