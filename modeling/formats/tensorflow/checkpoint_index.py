"""The index of a TensorFlow checkpoint, checked before TensorFlow reads it.

TensorFlow trusts an index whose checksums are right: an entry that is no entry, or a shape that is
none, ends the process. The file is a table of LevelDB without compression: a block of entries {name
of a variable: what is stored of it}, and a block that tells where such blocks are.
"""

import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import tensor_bundle_pb2

_FOOTER = struct.Struct("<40sQ")
_MAGIC = 0xDB4775248B80FB57
_TRAILER_BYTES = 5  # after a block: its compression and its checksum
_MAX_BYTES = 1 << 26  # of the file, and of all names: a name may share its first bytes with others
_MAX_DIMENSIONS = 254


def read_index(path: Path) -> dict[str, tuple[list[int], tf.DType]]:
    """The shape and the type of each variable in a checkpoint; `path` is without `.index`.

    Raises:
        ValueError: the index is damaged or larger than 64 MiB.
        OSError: there is none.
    """
    index = path.with_name(f"{path.name}.index")
    if index.stat().st_size > _MAX_BYTES:
        raise ValueError(f"an index has at most {_MAX_BYTES:,} bytes")
    entries = _table(index.read_bytes())
    try:
        key, value = next(entries, (None, b""))
        if key != b"":
            raise ValueError("the index has no header")
        count = tensor_bundle_pb2.BundleHeaderProto.FromString(value).num_shards
        return {
            key.decode(): _checked(tensor_bundle_pb2.BundleEntryProto.FromString(value), count)
            for key, value in entries
        }
    except DecodeError:
        raise ValueError("an entry of the index is malformed") from None


def _checked(entry: Any, num_shards: int) -> tuple[list[int], tf.DType]:
    """The shape and the type of an entry, which stands for a whole array."""
    shape = [dimension.size for dimension in entry.shape.dim]
    is_shape = len(shape) <= _MAX_DIMENSIONS and min(shape, default=0) >= 0
    if not is_shape or entry.shape.unknown_rank or math.prod(filter(None, shape)) >= 2**62:
        raise ValueError(f"the index declares an array of shape {shape}")
    dtype = tf.as_dtype(entry.dtype)
    if not (dtype.is_floating or dtype.is_integer or dtype.is_bool or dtype == tf.string):
        raise ValueError(f"the index declares an array of type {dtype.name}")
    size = entry.size if dtype == tf.string else math.prod(shape) * dtype.size
    is_there = 0 <= entry.shard_id < num_shards and entry.offset >= 0
    if entry.slices or entry.size != size or size < 0 or not is_there:
        raise ValueError("the index declares no whole array")
    return shape, dtype


def _table(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of a table, in its order."""
    if len(content) < _FOOTER.size:
        raise ValueError("the index ends early")
    handles, magic = _FOOTER.unpack_from(content, len(content) - _FOOTER.size)
    if magic != _MAGIC:
        raise ValueError("the index is no table")
    *_, position = _place(handles, 0)  # of a block that is not used
    blocks = [_place(value, 0) for _, value in _block(content, *_place(handles, position)[:2])]
    if sum(size for _, size, _ in blocks) > len(content):
        raise ValueError("the index has a block twice")
    num_bytes = 0
    for start, size, _ in blocks:
        for key, value in _block(content, start, size):
            num_bytes += len(key)
            if num_bytes > _MAX_BYTES:
                raise ValueError(f"the names in the index have more than {_MAX_BYTES:,} bytes")
            yield key, value


def _block(content: bytes, start: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of a block."""
    end = start + size
    if end + _TRAILER_BYTES > len(content) or size < 4 or content[end]:
        raise ValueError("a block of the index is missing or compressed")
    (num_restarts,) = struct.unpack_from("<I", content, end - 4)
    end -= 4 + 4 * num_restarts
    key, position = b"", start
    while position < end:
        shared, position = _varint(content, position)
        rest, position = _varint(content, position)
        length, position = _varint(content, position)
        if shared > len(key) or position + rest + length > end:
            raise ValueError("a block of the index is damaged")
        key = key[:shared] + content[position : position + rest]
        position += rest
        yield key, content[position : position + length]
        position += length


def _place(data: bytes, position: int) -> tuple[int, int, int]:
    """The start and the size of a block, from its handle, and the position after the handle."""
    start, position = _varint(data, position)
    size, position = _varint(data, position)
    return start, size, position


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """A number, a varint of protocol buffers, and the position after it."""
    number = 0
    for shift in range(0, 64, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, position
    raise ValueError("the index has a damaged number")
