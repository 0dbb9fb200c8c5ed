"""Records: they are tf.train.Examples, and an error names the file and the damaged record."""

import numpy as np
import pytest
import tensorflow as tf

from tta.data.records import examples
from tta.data.records.features import DEFAULT_FEATURES, IdLimits
from tta.data.records.pipeline import train_batches
from tta.errors import InputError

pytestmark = pytest.mark.tensorflow

SENTENCES = [[3, 1], [3, 5, 127, 128, 1], [3, *range(100, 17_000, 250), 1], [2**31 - 1], []]
LIMITS = IdLimits(max_length=100, vocab_size=20_000)


def records(sentences):
    ids = np.array([i for s in sentences for i in s], np.int32)
    return list(examples.encode_records(ids, np.array([len(s) for s in sentences], np.int32)))


def write(path, content):
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in content:
            writer.write(record)
    return path


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
    read = list(examples.read_sentences(path))
    assert [s.tolist() for s in read] == SENTENCES
    assert {s.dtype for s in read} == {np.dtype(np.int32)}
    dataset = tf.data.TFRecordDataset(str(path))
    dataset = dataset.map(lambda record: examples.parse_record(record, DEFAULT_FEATURES))
    parsed = [parsed["input_ids"] for parsed in dataset]
    assert [s.numpy().tolist() for s in parsed] == SENTENCES
    assert {s.dtype for s in parsed} == {tf.int32}


def test_damaged_file(tmp_path):
    path = write(tmp_path / "a.tfrecord", records(SENTENCES[:3]))
    content = bytearray(path.read_bytes())
    content[20] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="record 1 is truncated or damaged"):
        list(examples.read_sentences(path))


@pytest.mark.parametrize(
    ("record", "message"),
    [(b"", "record 2 has no feature 'input_ids'"), (b"text", "record 2 is not a tf.train.Example")],
)
def test_foreign_records(tmp_path, record, message):
    path = write(tmp_path / "a.tfrecord", [*records(SENTENCES[:1]), record])
    with pytest.raises(InputError, match=message):
        list(examples.read_sentences(path))


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        list(examples.read_sentences(tmp_path / "a.tfrecord"))


def test_check_records(tmp_path):
    path = write(tmp_path / "a.tfrecord", records([[3, 1, 1], *SENTENCES[1:3]]))
    examples.check_records([str(path)], DEFAULT_FEATURES, LIMITS)
    features = {**DEFAULT_FEATURES, "label": {"dtype": "int32", "shape": []}}
    with pytest.raises(InputError, match="a record does not have the features input_ids, label"):
        examples.check_records([str(path)], features, LIMITS)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"a\.tfrecord: record 3 is truncated or damaged"):
        examples.check_records([str(path)], DEFAULT_FEATURES, LIMITS)


@pytest.mark.parametrize(
    ("ids", "rule"),
    [
        ([3, 20_000, 1], "less than 20,000, not 20000"),
        ([3, -1, 1], "at least 0 and less than 20,000, not -1"),
        ([3, 2**32 + 5, 1], "not 4294967301"),
        ([3] * 101, "3 to 100 ids, begin and end included, not 101"),
        ([3] * 1_000_000, "not 1,000,000"),
        ([3, 1], "not 2"),
        ([], "not 0"),
    ],
)
def test_ids_that_dataset_json_does_not_allow_are_named(tmp_path, ids, rule):
    feature = tf.train.Feature(int64_list=tf.train.Int64List(value=ids))
    example = tf.train.Example(features=tf.train.Features(feature={"input_ids": feature}))
    path = write(tmp_path / "a.tfrecord", [*records([[3, 19_999, 1]]), example.SerializeToString()])
    with pytest.raises(InputError, match=rf"a\.tfrecord: record 2: .*{rule}$"):
        examples.check_records([str(path)], DEFAULT_FEATURES, LIMITS)
    found = iter(train_batches([str(path)], DEFAULT_FEATURES, 100, 100, 0, 0, 0, 20_000))
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(found)
