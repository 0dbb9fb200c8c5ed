"""A data set in memory, without TensorFlow, and batches of a few shapes: XLA compiles each of them.

S sentences, N ids, B batch, T tokens.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tta.data.records.examples import record_head
from tta.data.records.features import INPUT_IDS, PADDING_MASK, IdLimits, ModelInputs
from tta.data.records.tfrecord import read_records
from tta.errors import InputError, located

# Padded lengths of batches. The last one in use is the longest sentence's.
LENGTHS = (12, 16, 20, 24, 32, 44, 64, 128, 256, 512)


def read_split(paths: Sequence[str], limits: IdLimits) -> tuple[np.ndarray, np.ndarray]:
    """Reads shards of records that have `input_ids` alone, as `encode_records` writes them.

    Returns the ids of all sentences one after another, [N], and their lengths, [S] int64. Raises
    InputError if a shard is missing or damaged, or a record has other features or ids that are not
    within the limits. The message names the record, counted from 1.
    """
    columns = [_read_shard(path, limits) for path in paths]
    ids, lengths = ([np.zeros(0, np.int64), *column] for column in zip(*columns, strict=True))
    return np.concatenate(ids[1:] or ids), np.concatenate(lengths)


def _read_shard(path, limits):
    content, starts, sizes = read_records(path)
    heads = np.zeros_like(sizes)  # bytes of each record before its ids
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        few = range(max(0, size - 64), size)  # numbers of bytes of ids that may fit
        head = next((h for n in few if len(h := record_head(n)) + n == size), b"")
        same = content[starts[rows][:, None] + np.arange(len(head))] == list(head)
        if not head or not same.all():
            number = rows[0 if not head else int(same.all(axis=1).argmin())] + 1
            rule = f"record {number} has not {INPUT_IDS} alone, which KERAS_BACKEND=jax needs"
            raise InputError(rule, path)
        heads[rows] = len(head)
    # The varints of all records: a byte below 128 ends one.
    inside = np.zeros(len(content) + 1, np.int8)
    inside[starts + heads] += 1
    inside[starts + sizes] -= 1
    varints = content[np.cumsum(inside[:-1], dtype=np.int8).astype(bool)]
    last = np.flatnonzero(varints < 128)
    ids, first = np.zeros(len(last), np.int64), np.append(0, last + 1)[:-1]
    for column in range(min(10, int((last - first).max(initial=-1)) + 1)):
        rows = np.flatnonzero(first + column <= last)
        ids[rows] |= (varints[first[rows] + column].astype(np.int64) & 0x7F) << 7 * column
    ends = np.searchsorted(last, np.cumsum(sizes - heads))  # ids that end before each record's end
    lengths = np.diff(ends, prepend=0)
    bad = (lengths < limits.min_length) | (lengths > limits.max_length)
    ids[last - first >= 10] = -1  # longer than any number
    wrong = (ids < 0) | (ids >= limits.id_bound)
    bad[np.searchsorted(ends, np.flatnonzero(wrong), side="right")] = True
    cut = (sizes > heads) & (content[starts + sizes - 1] >= 128)
    if cut.any():
        raise InputError(f"record {int(cut.argmax()) + 1} is not a tf.train.Example", path)
    if bad.any():
        number = int(bad.argmax())
        with located(what=f"record {number + 1}", path=path):
            limits.check(ids[ends[number] - lengths[number] : ends[number]])
    kind = np.min_scalar_type(limits.id_bound - 1)
    return ids.astype(kind), lengths


@dataclass(frozen=True)
class ArrayBatches:
    """The batches of one pass over a split, as dicts of arrays.

    All batches of a length have the same number of sentences, and the last one is filled with
    empty sentences, whose tokens are all padding. Every sentence is in one batch.

    Attributes:
        ids, lengths: as `read_split` returns them.
        batch_tokens, batch_size, max_length, pad_id: as in `pipeline.train_batches`.
        inputs: adds what a model reads besides ids.
        seed: (seed, epoch), on which the order depends; None is the same order each time.
    """

    ids: np.ndarray
    lengths: np.ndarray
    batch_tokens: int
    batch_size: int | None
    max_length: int
    pad_id: int
    inputs: ModelInputs
    seed: tuple[int, int] | None = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yields {"input_ids": [B, T] int32, "padding_mask": [B, T] bool} and what is added."""
        return (batch for (batch,) in self.groups())

    def groups(self, size: int = 1, skip: int = 0) -> Iterator[list[dict[str, Any]]]:
        """Yields lists of `size` batches of one shape, after the first `skip` batches."""
        order = None if self.seed is None else np.random.default_rng(self.seed)
        bounds = [*(n for n in LENGTHS if n < self.max_length), self.max_length]
        bucket, groups = np.searchsorted(bounds, self.lengths), []
        for number, length in enumerate(bounds):
            members = np.flatnonzero(bucket == number)
            members = members if order is None else order.permutation(members)
            rows = size * (self.batch_size or max(1, self.batch_tokens // length))
            members = np.append(members, np.full(-len(members) % rows, -1))
            groups += [(length, group) for group in members.reshape(-1, rows)]
        # Without a seed too, so that the first batches are no worse a sample than others.
        numbers = (order or np.random.default_rng(0)).permutation(len(groups))
        starts = np.cumsum(self.lengths) - self.lengths
        for number in numbers[skip // size :]:
            length, rows = groups[number]
            yield [self._batch(part, length, starts) for part in np.split(rows, size)]

    def _batch(self, rows, length, starts):
        """The sentences of some rows; -1 is an empty one."""
        counts = np.where(rows < 0, 0, self.lengths[rows])
        mask = np.arange(length) < counts[:, None]
        places = np.minimum(starts[rows][:, None] + np.arange(length), len(self.ids) - 1)
        ids = np.where(mask, self.ids[places], self.pad_id).astype(np.int32)
        return self.inputs({INPUT_IDS: ids, PADDING_MASK: mask})
