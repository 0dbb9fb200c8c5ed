"""A data set in memory: what is read, what is refused, and batches of a few shapes."""

import struct

import google_crc32c
import numpy as np
import pytest

from tests.data.records.test_examples import write
from tests.fuzzing_models import LIMITS
from tests.tiny_dataset import sentences, write_shard, write_shard_with
from tta.data.records.arrays import LENGTHS, ArrayBatches, read_split
from tta.data.records.examples import encode_records, read_sentences
from tta.data.records.features import IdLimits, ModelInputs
from tta.errors import InputError

pytestmark = pytest.mark.tensorflow

WIDE = IdLimits(600, 2**31 - 1)


def split(ids, lengths):
    return np.split(ids, np.cumsum(lengths)[:-1])


def test_it_reads_what_tensorflow_reads(tmp_path):
    rng = np.random.default_rng(0)
    found = [
        rng.integers(0, top, length)
        for top in (100, 20_000, 2**31 - 1)
        for length in (3, 7, 50, 300, 599)
    ]
    for name, part in (("one", found[::2]), ("two", found[1::2])):
        write_shard(tmp_path / name, part)
    paths = [str(tmp_path / name) for name in ("one", "two")]
    read = split(*read_split(paths, WIDE))
    expected = [ids for path in paths for ids in read_sentences(path)]
    assert len(read) == len(expected) == 15
    assert all(map(np.array_equal, read, expected))
    assert read_split(paths[:1], IdLimits(600, 2**31 - 1))[0].dtype == np.uint32
    (tmp_path / "empty").write_bytes(b"")
    assert [len(part) for part in read_split([str(tmp_path / "empty")], WIDE)] == [0, 0]


def test_ids_take_as_few_bytes_as_the_vocabulary_allows(tmp_path):
    write_shard(tmp_path / "shard", sentences(3))
    assert read_split([str(tmp_path / "shard")], IdLimits(17, 23))[0].dtype == np.uint8


def test_every_damaged_byte_is_noticed(tmp_path):
    path = tmp_path / "shard"
    write_shard(path, sentences(3))
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        with pytest.raises(InputError, match=r"shard: record [1-3] is truncated or damaged"):
            read_split([str(path)], WIDE)
    for size in (1, 11, 13, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match="is truncated or damaged"):
            read_split([str(path)], WIDE)
    with pytest.raises(InputError, match="none: no such file"):
        read_split([str(tmp_path / "none")], WIDE)


@pytest.mark.parametrize("length", [1, 2**62, 2**64 - 1])
def test_a_length_beyond_the_file_is_noticed(tmp_path, length):
    """Its own checksum is right, as in a file that was made to do harm."""
    part = struct.pack("<Q", length)
    value = google_crc32c.value(part)
    checksum = ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF
    path = tmp_path / "shard"
    path.write_bytes(part + struct.pack("<I", checksum) + bytes(4))
    with pytest.raises(InputError, match=r"shard: record 1 is truncated or damaged"):
        read_split([str(path)], WIDE)


@pytest.mark.parametrize(
    ("ids", "rule"),
    [
        ([3, 7, 1], "record 2: ids are at least 0 and less than 7, not 7"),
        ([3, 1], "record 2: a sentence has 3 to 9 ids, begin and end included, not 2"),
        ([3] * 10, "record 2: a sentence has 3 to 9 ids, begin and end included, not 10"),
        ([], "record 2: a sentence has 3 to 9 ids, begin and end included, not 0"),
    ],
)
def test_ids_that_are_not_within_the_limits_are_refused(tmp_path, ids, rule):
    write_shard(tmp_path / "shard", [[3, 5, 1], ids, [3, 6, 1]])
    with pytest.raises(InputError, match=f"shard: {rule}$"):
        read_split([str(tmp_path / "shard")], LIMITS)


def test_records_that_are_not_ids_alone_are_refused(tmp_path):
    good, *_ = encode_records(np.array([3, 5, 1]), np.array([3]))
    cut = good[:-1] + b"\xff"  # the last number goes on
    for record in (b"", b"x", good.replace(b"input_ids", b"input_ide"), good + b"x" * 200):
        with pytest.raises(InputError, match="shard: record 2 has not input_ids alone"):
            read_split([write(tmp_path / "shard", [good, record])], WIDE)
    with pytest.raises(InputError, match="shard: record 1 is not a tf"):
        read_split([write(tmp_path / "shard", [cut, good])], WIDE)
    long, *_ = encode_records(np.full(12, 5), np.array([12]))
    varint = long[:-12] + b"\x80" * 11 + b"\x01"  # one number of twelve bytes
    with pytest.raises(InputError, match="record 1: "):
        read_split([write(tmp_path / "shard", [varint])], WIDE)
    write_shard_with({"weight": float}, tmp_path / "shard", [[3, 5, 1]])
    with pytest.raises(InputError, match="record 1 has not input_ids alone"):
        read_split([str(tmp_path / "shard")], WIDE)


def batches(count=200, seed=None, size=None, tokens=256, longest=60):
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, longest + 1, count)
    ids = rng.integers(5, 16_000, lengths.sum()).astype(np.uint16)
    made = ArrayBatches(ids, lengths, tokens, size, longest, 0, ModelInputs({}), seed)
    return made, sorted(map(tuple, split(ids, lengths)))


def rows_of(found):
    return sorted(
        tuple(ids[mask])
        for batch in found
        for ids, mask in zip(batch["input_ids"], batch["padding_mask"], strict=True)
        if mask.any()
    )


@pytest.mark.parametrize("seed", [None, (1, 0)])
@pytest.mark.parametrize("size", [None, 5])
@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_every_sentence_is_in_one_batch_of_few_shapes(seed, size, replicas):
    made, expected = batches(seed=seed, size=size)
    groups = list(made.groups(replicas))
    assert all(len({b["input_ids"].shape for b in group}) == 1 for group in groups)
    found = [batch for group in groups for batch in group]
    assert rows_of(found) == expected
    lengths = [*(n for n in LENGTHS if n < 60), 60]
    shapes = {(size or 256 // length, length) for length in lengths}
    assert {batch["input_ids"].shape for batch in found} == shapes
    for batch in found:
        assert not batch["input_ids"][~batch["padding_mask"]].any()
        assert (np.diff(batch["padding_mask"].astype(int), axis=1) <= 0).all()


def test_the_order_depends_on_seed_and_epoch_alone():
    first, again, epoch, seed = (list(batches(seed=s)[0]) for s in ((1, 0), (1, 0), (1, 1), (2, 0)))
    assert all(
        np.array_equal(a["input_ids"], b["input_ids"]) for a, b in zip(first, again, strict=True)
    )
    for other in (epoch, seed):
        assert any(
            a["input_ids"].shape != b["input_ids"].shape or (a["input_ids"] != b["input_ids"]).any()
            for a, b in zip(first, other, strict=False)
        )


@pytest.mark.parametrize("replicas", [1, 2])
def test_batches_that_are_skipped_are_those_before(replicas):
    made, _ = batches(seed=(1, 0))
    whole, rest = list(made.groups(replicas)), list(made.groups(replicas, 4 * replicas))
    assert len(rest) == len(whole) - 4
    for group, same in zip(whole[4:], rest, strict=True):
        for one, other in zip(group, same, strict=True):
            np.testing.assert_array_equal(one["input_ids"], other["input_ids"])


def test_a_sentence_longer_than_a_batch_is_alone_in_one():
    made, expected = batches(tokens=20)
    assert rows_of(made) == expected
    assert {len(b["input_ids"]) for b in made if b["input_ids"].shape[1] > 20} == {1}


def test_a_model_s_inputs_are_added():
    made, _ = batches(9)
    inputs = ModelInputs({"twice": lambda ids: 2 * ids}, vocab_size=9_000, unk_id=2)
    for batch in ArrayBatches(made.ids, made.lengths, 256, None, 60, 0, inputs):
        ids = batch["twice"] // 2
        np.testing.assert_array_equal(batch["input_ids"], np.where(ids < 9_000, ids, 2))
        assert batch["input_ids"].dtype == np.int32
