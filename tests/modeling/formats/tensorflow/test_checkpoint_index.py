"""The index of a TensorFlow checkpoint: what it declares, and what would end the process."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import tensor_bundle_pb2

from tests.fuzzing_models import write_index
from tta.modeling.formats.tensorflow.checkpoint_index import read_index

ARRAYS = {
    "a/kernel": np.ones((2, 3), np.float32),
    "a/kernel/Adam": np.ones((0, 7), np.float16),
    "b": np.array([b"text", b""]),
    "step": np.int64(7),
}


@pytest.fixture
def checkpoint(tmp_path):
    path = tmp_path / "ckpt-1"
    tf.raw_ops.SaveV2(
        prefix=str(path),
        tensor_names=list(ARRAYS),
        shape_and_slices=[""] * len(ARRAYS),
        tensors=[tf.constant(array) for array in ARRAYS.values()],
    )
    return path


def test_it_declares_what_tensorflow_reads(checkpoint):
    found, reader = read_index(checkpoint), tf.train.load_checkpoint(str(checkpoint))
    assert {name: shape for name, (shape, _) in found.items()} == {
        name: list(array.shape) for name, array in ARRAYS.items()
    }
    assert {name: dtype for name, (_, dtype) in found.items()} == (
        reader.get_variable_to_dtype_map()
    )


HEADER = (b"", tensor_bundle_pb2.BundleHeaderProto(num_shards=1).SerializeToString())


def entry(shape=(2, 3), **values):
    made = tensor_bundle_pb2.BundleEntryProto(**{"dtype": 1, "size": 24} | values)
    for size in shape:
        made.shape.dim.add(size=size)
    return made


def sliced():
    made = entry()
    made.slices.add()
    return made


def of_unknown_rank():
    made = entry(())
    made.shape.unknown_rank = True
    return made


@pytest.mark.parametrize(
    ("pairs", "rule"),
    [
        ([HEADER, (b"a", b"\x3a")], "an entry of the index is malformed"),
        ([HEADER, (b"a", entry((-1, 3)))], "an array of shape"),
        ([HEADER, (b"a", entry((2**40, 2**40)))], "an array of shape"),
        ([HEADER, (b"a", entry((1,) * 255, size=4))], "an array of shape"),
        ([HEADER, (b"a", of_unknown_rank())], "an array of shape"),
        ([HEADER, (b"a", entry(dtype=21))], "an array of type variant"),
        ([HEADER, (b"a", entry(dtype=7, size=-1))], "no whole array"),
        ([HEADER, (b"a", entry(size=23))], "no whole array"),
        ([HEADER, (b"a", entry(shard_id=1))], "no whole array"),
        ([HEADER, (b"a", entry(offset=-1))], "no whole array"),
        ([HEADER, (b"a", sliced())], "no whole array"),
        ([(b"a", entry())], "the index has no header"),
        ([(b"", b"\x3a")], "an entry of the index is malformed"),
        ([], "the index has no header"),
    ],
)
def test_a_hostile_entry_is_refused(tmp_path, pairs, rule):
    def as_bytes(value):
        return value if isinstance(value, bytes) else value.SerializeToString()

    write_index(tmp_path / "ckpt-1.index", [(key, as_bytes(value)) for key, value in pairs])
    with pytest.raises(ValueError, match=rule):
        read_index(tmp_path / "ckpt-1")


def test_a_name_takes_no_more_memory_than_its_file_says(tmp_path):
    """Names share their first bytes: 300,000 of 1,000 bytes are a file of 9 MB."""
    first = b"\0\0" + b"\x02" + HEADER[1]
    row = entry((), size=4).SerializeToString()
    name = b"\0\xe8\x07" + bytes([len(row)]) + b"a" * 1000 + row
    rows = first + name + (b"\xe7\x07\x01" + bytes([len(row)]) + b"b" + row) * 300_000
    body = rows + b"\0" * 4
    handle = b"\0" + varint(len(body))
    index = b"\0\x01" + bytes([len(handle)]) + b"\xff" + handle + b"\0" * 4
    handles = b"\0\0" + varint(len(body) + 5) + varint(len(index))
    content = body + bytes(5) + index + bytes(5) + handles.ljust(40, b"\0")
    (tmp_path / "ckpt-1.index").write_bytes(content + 0xDB4775248B80FB57.to_bytes(8, "little"))
    with pytest.raises(ValueError, match="the names in the index have more than"):
        read_index(tmp_path / "ckpt-1")


def varint(number):
    return bytes([number & 127 | 128]) + varint(number >> 7) if number > 127 else bytes([number])


def test_an_index_that_is_cut_is_refused(checkpoint):
    index = checkpoint.with_name("ckpt-1.index")
    content = index.read_bytes()
    for size in range(len(content)):
        index.write_bytes(content[:size])
        with pytest.raises(ValueError, match="the index"):
            read_index(checkpoint)


def test_a_flipped_byte_is_refused_or_read(checkpoint):
    index = checkpoint.with_name("ckpt-1.index")
    content, refused = index.read_bytes(), 0
    for place, byte in enumerate(content):
        index.write_bytes(content[:place] + bytes([byte ^ 0xFF]) + content[place + 1 :])
        try:
            read_index(checkpoint)
        except (ValueError, TypeError):  # what `reading` turns into an InputError
            refused += 1
    assert refused > len(content) // 3
