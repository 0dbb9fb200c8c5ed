"""Data sets on disk: shard names, the description, and incomplete or malformed ones."""

import json

import pytest

from tta.data.records import dataset
from tta.data.records.features import DEFAULT_FEATURES
from tta.errors import InputError


def test_shard_names():
    assert dataset.shard_name("train", 7, 64) == "train-00007-of-00064.tfrecord"
    assert dataset.is_shard_name("heldout-00000-of-00001.tfrecord")
    assert not dataset.is_shard_name("train-00000-of-00001.tfrecord.tmp")
    assert not dataset.is_shard_name("mine.tfrecord")


def features(**others):
    return {"features": {**DEFAULT_FEATURES, **others}}


@pytest.fixture
def data_set(tmp_path):
    """A folder with one train shard, no held-out split, and the description of both."""
    shard = tmp_path / dataset.shard_name("train", 0, 1)
    shard.write_bytes(b"the shard")
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
    info = dataset.load_dataset_info(data_set)
    assert info["vocab_size"] == 10
    assert info["features"] == DEFAULT_FEATURES, "the default"
    assert info["tokenizer"] == "word_pieces", "the default"
    assert dataset.shard_paths(data_set, info, "train") == [
        str(data_set / "train-00000-of-00001.tfrecord")
    ]
    assert dataset.shard_paths(data_set, info, "heldout") == []


def test_declared_features_and_tokenizer(data_set):
    declared = features(label={"dtype": "float32", "shape": [3]}) | {"tokenizer": "words"}
    path = data_set / "dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | declared))
    assert declared.items() <= dataset.load_dataset_info(data_set).items()


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
        ({"splits": {"train": {}, "../x": {}}}, "or heldout, not '../x'|split 'train' needs"),
        ({"splits": []}, "splits must be of type dict"),
        ({"max_seq_length": 0}, "max_seq_length must be at least 1, got 0"),
        ({"max_seq_length": "8"}, "max_seq_length must be of type int, got '8'"),
        ({"tokenizer": "letters"}, "json: tokenizer must be word_pieces or words, got 'letters'$"),
        ({"sources": 5}, "dataset.json: sources must be a list of names, got 5"),
        ({"sources": ["a", 5]}, "sources must be a list of names"),
        ({"features": []}, r"features must be of type dict, got \[\]"),
        ({"features": {}}, "features must have {'input_ids': .* and no 'padding_mask', got {}"),
        (features(label=1), "feature 'label' needs a dtype int32 or int64 or float32, got {}"),
        (features(label={"dtype": "string", "shape": []}), "needs a dtype int32 or .*'string'"),
        (features(label={"dtype": "int32"}), r"'label' needs a shape \[null\], \[\] or \[k\], got"),
        (features(label={"dtype": "int32", "shape": [0]}), "'label' needs a shape"),
        (features(label={"dtype": "int32", "shape": [2, 3]}), "'label' needs a shape"),
        (features(label={"dtype": "int32", "shape": [True]}), "'label' needs a shape"),
        (features(input_ids={"dtype": "int64", "shape": [None]}), "features must have"),
        (features(padding_mask={"dtype": "int32", "shape": [None]}), "and no 'padding_mask'"),
    ],
)
def test_malformed_description(data_set, change, message):
    path = data_set / "dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=message):
        dataset.load_dataset_info(data_set)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "dataset.json:1: not JSON: "),
        ("[" * 100_000, "dataset.json: JSON nested too deeply"),
        ("\udcff", "dataset.json: not UTF-8 text"),
        ("[]", "expected a JSON object, found list"),
        ('{"format_version": 1}', "the key 'vocab_size' is missing"),
    ],
)
def test_a_file_that_is_not_a_description(data_set, text, message):
    (data_set / "dataset.json").write_text(text, errors="surrogateescape")
    with pytest.raises(InputError, match=message):
        dataset.load_dataset_info(data_set)


def test_incomplete_data_set(data_set):
    shard = data_set / "train-00000-of-00001.tfrecord"
    size = shard.stat().st_size
    shard.write_bytes(shard.read_bytes()[:-3])
    rule = (
        f"train-00000-of-00001.tfrecord: the shard has {size - 3} bytes, dataset.json says {size}"
    )
    with pytest.raises(InputError, match=rule):
        dataset.load_dataset_info(data_set)
    shard.unlink()
    with pytest.raises(InputError, match="the shard is missing"):
        dataset.load_dataset_info(data_set)
    (data_set / "dataset.json").unlink()
    with pytest.raises(InputError, match="not a complete data set: it has no dataset"):
        dataset.load_dataset_info(data_set)
    with pytest.raises(InputError, match="not a complete data set"):
        dataset.load_dataset_info(data_set / "none")
