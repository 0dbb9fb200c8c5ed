"""TFRecord files in NumPy: each record between its length and checksums (CRC-32C).

    length: uint64 | checksum of these 8 bytes: uint32 | record | checksum of the record: uint32

N records.
"""

import struct
from pathlib import Path

import numpy as np

from tta.errors import InputError

_HEAD = struct.Struct("<QI")
_FRAME = _HEAD.size + 4


def _make_table():
    """The checksum of each byte."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = (table >> 1) ^ (table & 1) * np.uint32(0x82F63B78)
    return table


_TABLE = _make_table()


def checksums(content: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The checksums of N parts of a file, masked as in TFRecord: [N] uint32.

    `content` are its bytes, [size] uint8, `starts` and `lengths` are [N] int64. One byte of every
    part is added at a time.
    """
    order = np.argsort(-lengths, kind="stable")
    sizes, places = lengths[order], starts[order].copy()
    values = np.full(len(order), 0xFFFFFFFF, np.uint32)
    longer = np.searchsorted(-sizes, -np.arange(sizes.max(initial=0)), side="left")
    for count in longer:
        part = values[:count]
        part[:] = _TABLE[(part ^ content[places[:count]]) & 0xFF] ^ (part >> 8)
        places[:count] += 1
    values = ~values
    result = np.empty_like(values)
    result[order] = ((values >> 15) | (values << 17)) + np.uint32(0xA282EAD8)
    return result


def frame(record: bytes) -> bytes:
    """A record as it stands in a file."""

    def checksum(part):
        content = np.frombuffer(part, np.uint8)
        return checksums(content, np.zeros(1, np.int64), np.array([len(part)]))[0].tobytes()

    length = struct.pack("<Q", len(record))
    return length + checksum(length) + record + checksum(record)


def read_records(path: Path | str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reads a file: its bytes [size] uint8, and where records start and how long they are, [N].

    Raises:
        InputError: the file is missing, or a record is truncated or damaged. The message names the
            record, counted from 1.
    """
    if not Path(path).is_file():
        raise InputError("no such file", path)
    data = Path(path).read_bytes()
    starts, lengths, place, size = [], [], 0, len(data)
    while place + _FRAME <= size:
        length, _ = _HEAD.unpack_from(data, place)
        if place + _FRAME + length > size:
            break
        starts.append(place + _HEAD.size)
        lengths.append(length)
        place += _FRAME + length
    content = np.frombuffer(data, np.uint8)
    first, count = np.array(starts, np.int64), np.array(lengths, np.int64)
    eight = np.full_like(count, 8)
    good = _stored(content, first - 4) == checksums(content, first - _HEAD.size, eight)
    good &= _stored(content, first + count) == checksums(content, first, count)
    if not good.all() or place < size:
        number = int(np.append(good, False).argmin()) + 1
        raise InputError(f"record {number} is truncated or damaged", path)
    return content, first, count


def _stored(content, starts):
    """The uint32 at some bytes of a file: [N]."""
    return np.ascontiguousarray(content[starts[:, None] + np.arange(4)]).view("<u4")[:, 0]
