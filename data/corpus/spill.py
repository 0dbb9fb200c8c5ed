"""Shuffling more than memory holds: sentences are dealt out to files at random, then each file is
shuffled. The two steps together are a uniform shuffle.
"""

from pathlib import Path

import numpy as np

PART_BYTES = 32 << 20  # What is shuffled in memory at a time; a larger spill is dealt out again.
BLOCK_SENTENCES = 8192


class Spill:
    """Sentences on their way to one shard, as two files of numbers.

    Args:
        path: the stem of the two files' names.
    """

    def __init__(self, path):
        self._path = path
        self._ids, self._lengths = Path(f"{path}.ids"), Path(f"{path}.lengths")

    def append(self, ids, lengths):
        """Adds N sentences: their ids, int32 [sum of lengths], and lengths, int32 [N]."""
        # Opened anew each time: there may be more spills than a process may have open files.
        with open(self._ids, "ab") as ids_file, open(self._lengths, "ab") as lengths_file:
            ids_file.write(ids.tobytes())
            lengths_file.write(lengths.tobytes())

    def shuffled(self, rng):
        """Iterates over the sentences in random order, and deletes the files.

        Args:
            rng: a `numpy.random.Generator`.

        Yields:
            ids, int32 [sum of lengths], and lengths, int32 [N], of a block of sentences.
        """
        for part in self._parts(rng):
            ids, lengths = part._read()
            starts = np.cumsum(lengths) - lengths
            order = rng.permutation(len(lengths))
            for block in np.array_split(order, len(order) // BLOCK_SENTENCES + 1):
                yield take_runs(ids, starts[block], lengths[block]), lengths[block]

    def _read(self):
        if not self._ids.exists():  # No sentence was dealt to this spill.
            return np.zeros(0, np.int32), np.zeros(0, np.int32)
        content = np.fromfile(self._ids, np.int32), np.fromfile(self._lengths, np.int32)
        self._remove()
        return content

    def _parts(self, rng):
        """Itself, or if it is too large for memory, smaller spills that it is dealt out to."""
        size = self._ids.stat().st_size if self._ids.exists() else 0
        count = -(-size // PART_BYTES)
        if count <= 1:
            return [self]
        parts = [Spill(f"{self._path}-{i}") for i in range(count)]
        for ids, lengths in self._blocks():
            starts = np.cumsum(lengths) - lengths
            owner = rng.integers(count, size=len(lengths))
            for i, part in enumerate(parts):
                mine = owner == i
                part.append(take_runs(ids, starts[mine], lengths[mine]), lengths[mine])
        self._remove()
        return parts

    def _blocks(self):
        with open(self._ids, "rb") as ids_file, open(self._lengths, "rb") as lengths_file:
            while len(lengths := np.fromfile(lengths_file, np.int32, BLOCK_SENTENCES)):
                yield np.fromfile(ids_file, np.int32, int(lengths.sum())), lengths

    def _remove(self):
        self._ids.unlink()
        self._lengths.unlink()


def take_runs(values, starts, lengths):
    """Concatenates the runs values[start : start + length]; starts and lengths are [N] ints."""
    offsets = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return values[offsets + np.arange(len(offsets))]
