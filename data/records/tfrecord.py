"""Reads TFRecord files without TensorFlow. A record is between its length and checksums (CRC-32C).

length: uint64 | checksum of these 8 bytes: uint32 | record | checksum of the record: uint32
"""

import struct
from pathlib import Path

import google_crc32c
import numpy as np

from tta.errors import InputError

_HEAD, _CHECKSUM = struct.Struct("<QI"), struct.Struct("<I")


def read_records(path: Path | str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reads a file: its bytes [size] uint8, and where its N records start and how long they are.

    Raises InputError if the file is missing, or a record is truncated or damaged. The message names
    the record, counted from 1.
    """
    if not Path(path).is_file():
        raise InputError("no such file", path)
    data, starts, lengths, stop = Path(path).read_bytes(), [], [], 0
    while stop < len(data):
        start, good = stop + _HEAD.size, False
        if start <= len(data):
            length, checksum = _HEAD.unpack_from(data, stop)
            end = start + length
            good = end + _CHECKSUM.size <= len(data)
            good = good and checksum == _masked(data[stop : stop + 8])
            good = good and _CHECKSUM.unpack_from(data, end) == (_masked(data[start:end]),)
        if not good:
            raise InputError(f"record {len(starts) + 1} is truncated or damaged", path)
        starts.append(start)
        lengths.append(length)
        stop = end + _CHECKSUM.size
    return np.frombuffer(data, np.uint8), np.array(starts, np.int64), np.array(lengths, np.int64)


def _masked(part):
    """The checksum of bytes as TFRecord stores it."""
    value = google_crc32c.value(part)
    return ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF
