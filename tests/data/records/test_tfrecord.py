"""TFRecord files: the records are tf.train.Examples, and damage is told by file and record."""

import json

import numpy as np
import pytest
import tensorflow as tf

from tta.data.records import tfrecord
from tta.errors import InputError

SENTENCES = [[3, 1], [3, 5, 127, 128, 1], [3, *range(100, 17_000, 250), 1], [2**31 - 1], []]


def records(sentences):
    ids = np.array([i for s in sentences for i in s], np.int32)
    return list(tfrecord.encode_records(ids, np.array([len(s) for s in sentences], np.int32)))


def write(path, content):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in content:
            writer.write(record)
    return path


def test_records_are_examples():
    for ids, record in zip(SENTENCES, records(SENTENCES), strict=True):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=ids))
        example = tf.train.Example(features=tf.train.Features(feature={"input_ids": feature}))
        assert tf.train.Example.FromString(record) == example


def test_records_of_random_sentences_equal_tensorflows_byte_for_byte():
    rng = np.random.default_rng(7)
    for high in (2, 2**7, 2**14 + 1, 2**21, 2**31 - 1):
        sentences = [rng.integers(high, size=n).tolist() for n in rng.integers(1, 131, 50)]
        for ids, record in zip(sentences, records(sentences), strict=True):
            feature = tf.train.Feature(int64_list=tf.train.Int64List(value=ids))
            features = tf.train.Features(feature={"input_ids": feature})
            assert record == tf.train.Example(features=features).SerializeToString()


def test_no_sentences():
    assert records([]) == []


def test_file_round_trip_both_ways(tmp_path):
    path = write(tmp_path / "a.tfrecord", records(SENTENCES))
    read = list(tfrecord.read_sentences(path))
    assert [s.tolist() for s in read] == SENTENCES
    assert {s.dtype for s in read} == {np.dtype(np.int32)}
    parsed = list(tf.data.TFRecordDataset(str(path)).map(tfrecord.parse_record))
    assert [s.numpy().tolist() for s in parsed] == SENTENCES
    assert {s.dtype for s in parsed} == {tf.int32}


def test_truncated_file(tmp_path):
    path = write(tmp_path / "a.tfrecord", records(SENTENCES[:3]))
    path.write_bytes(path.read_bytes()[:-1])
    sentences = tfrecord.read_sentences(path)
    assert [next(sentences).tolist() for _ in range(2)] == SENTENCES[:2]
    with pytest.raises(InputError, match=r"a\.tfrecord: record 3 is truncated or damaged"):
        next(sentences)


def test_damaged_file(tmp_path):
    path = write(tmp_path / "a.tfrecord", records(SENTENCES[:3]))
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="record 1 is truncated or damaged"):
        list(tfrecord.read_sentences(path))


@pytest.mark.parametrize(
    ("record", "message"),
    [(b"", "record 2 has no feature 'input_ids'"), (b"text", "record 2 is no tf.train.Example")],
)
def test_foreign_records(tmp_path, record, message):
    path = write(tmp_path / "a.tfrecord", [*records(SENTENCES[:1]), record])
    with pytest.raises(InputError, match=message):
        list(tfrecord.read_sentences(path))


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        list(tfrecord.read_sentences(tmp_path / "a.tfrecord"))


def test_shard_names():
    assert tfrecord.shard_name("train", 7, 64) == "train-00007-of-00064.tfrecord"
    assert tfrecord.is_shard_name("heldout-00000-of-00001.tfrecord")
    assert not tfrecord.is_shard_name("train-00000-of-00001.tfrecord.tmp")
    assert not tfrecord.is_shard_name("mine.tfrecord")


@pytest.fixture
def data_set(tmp_path):
    """A folder with one train shard, no held-out split, and the description of both."""
    shard = write(tmp_path / tfrecord.shard_name("train", 0, 1), records(SENTENCES[:1]))
    info = {
        "format_version": 1,
        "vocab_size": 10,
        "vocab_sha256": "0",
        "lower_case": True,
        "max_seq_length": 8,
        "splits": {"train": {"shards": 1, "shard_bytes": [shard.stat().st_size]}},
    }
    (tmp_path / "dataset.json").write_text(json.dumps(info))
    return tmp_path


def test_description(data_set):
    info = tfrecord.load_dataset_info(data_set)
    assert info["vocab_size"] == 10
    assert tfrecord.shard_paths(data_set, info, "train") == [
        str(data_set / "train-00000-of-00001.tfrecord")
    ]
    assert tfrecord.shard_paths(data_set, info, "heldout") == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 2}, "dataset.json: format_version must be 1, got 2"),
        ({"format_version": None}, "format_version must be 1, got None"),
        ({"splits": {}}, "it has no train split"),
        ({"splits": {"train": {"shards": 1}}}, "split 'train' needs shards and shard_bytes"),
        ({"splits": {"train": {"shards": 2, "shard_bytes": [1]}}}, "2 shards but 1 shard_bytes"),
        ({"splits": {"train": {"shards": 10**12, "shard_bytes": [1]}}}, "1000000000000 shards but"),
        ({"splits": {"train": 3}}, "split 'train' needs shards and shard_bytes"),
        ({"splits": {"train": {}, "../x": {}}}, "'../x' is no split|split 'train' needs"),
        ({"splits": []}, "splits must be of type dict"),
        ({"max_seq_length": 0}, "max_seq_length must be at least 1, got 0"),
        ({"max_seq_length": "8"}, "max_seq_length must be of type int, got '8'"),
    ],
)
def test_malformed_description(data_set, change, message):
    path = data_set / "dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        tfrecord.load_dataset_info(data_set)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "dataset.json: not JSON: "),
        ("[" * 100_000, "dataset.json: not JSON: maximum recursion depth"),
        ("\udcff", "dataset.json:1: expected UTF-8"),
        ("[]", "format_version must be 1, got None"),
        ('{"format_version": 1}', "the key 'vocab_size' is missing"),
    ],
)
def test_description_that_is_none(data_set, text, message):
    (data_set / "dataset.json").write_text(text, errors="surrogateescape")
    with pytest.raises(InputError, match=message):
        tfrecord.load_dataset_info(data_set)


def test_incomplete_data_set(data_set):
    shard = data_set / "train-00000-of-00001.tfrecord"
    size = shard.stat().st_size
    shard.write_bytes(shard.read_bytes()[:-3])
    rule = (
        f"train-00000-of-00001.tfrecord: the shard has {size - 3} bytes, dataset.json says {size}"
    )
    with pytest.raises(InputError, match=rule):
        tfrecord.load_dataset_info(data_set)
    shard.unlink()
    with pytest.raises(InputError, match="the shard is missing"):
        tfrecord.load_dataset_info(data_set)
    (data_set / "dataset.json").unlink()
    with pytest.raises(InputError, match="not a complete data set: it has no dataset"):
        tfrecord.load_dataset_info(data_set)
    with pytest.raises(InputError, match="not a complete data set"):
        tfrecord.load_dataset_info(data_set / "none")
