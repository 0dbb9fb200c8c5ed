"""Batches: within their budget, every sentence once, repeatable by seed and epoch."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests.tiny_dataset import MAX_LENGTH, VOCABULARY, sentences, write_dataset, write_shard
from tta.data.records.dataset import load_dataset_info, shard_paths
from tta.data.records.features import DEFAULT_FEATURES
from tta.data.records.pipeline import bucket_lengths, eval_batches, train_batches

pytestmark = pytest.mark.tensorflow

PAD = VOCABULARY.pad_id
TRAIN, HELDOUT = sentences(211), sentences(53, seed=1)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    directory = write_dataset(tmp_path_factory.mktemp("data"), TRAIN, HELDOUT)
    info = load_dataset_info(directory)
    return {name: shard_paths(directory, info, name) for name in ("train", "heldout")}


def batches(shards, batch_tokens=100, seed=0, epoch=0, max_length=MAX_LENGTH):
    train = shards["train"]
    found = train_batches(train, DEFAULT_FEATURES, batch_tokens, max_length, PAD, seed, epoch)
    return [{name: array.numpy() for name, array in batch.items()} for batch in found]


def rows(batches):
    """The sentences of all batches, as lists of ids."""
    return [
        ids[mask].tolist()
        for batch in batches
        for ids, mask in zip(batch["input_ids"], batch["padding_mask"], strict=True)
    ]


@pytest.mark.parametrize("max_length", [1, 2, 7, 8, 9, 17, 128, 512])
def test_bucket_lengths_rise_to_the_longest(max_length):
    found = bucket_lengths(max_length)
    assert found[-1] == max_length
    assert found == sorted(set(found))
    assert all(b - a <= max(1, a // 10) for a, b in itertools.pairwise(found))


@pytest.mark.parametrize("batch_tokens", [1, MAX_LENGTH, 100, 100_000])
def test_every_sentence_comes_once_an_epoch_within_the_budget(shards, batch_tokens):
    found = batches(shards, batch_tokens)
    assert sorted(rows(found)) == sorted(TRAIN)
    for batch in found:
        assert batch["input_ids"].shape == batch["padding_mask"].shape
        # A sentence longer than the budget is a batch by itself.
        assert batch["input_ids"].size <= batch_tokens or len(batch["input_ids"]) == 1


def test_padding_follows_the_tokens_and_is_as_short_as_possible(shards):
    for batch in batches(shards):
        ids, mask = batch["input_ids"], batch["padding_mask"]
        assert (ids.dtype, mask.dtype) == (np.int32, bool)
        lengths = mask.sum(axis=1)
        np.testing.assert_array_equal(mask, np.arange(ids.shape[1]) < lengths[:, None])
        np.testing.assert_array_equal(ids[~mask], PAD)
        assert ids.shape[1] == lengths.max()
        np.testing.assert_array_equal(ids[:, 0], VOCABULARY.bos_id)
        np.testing.assert_array_equal(ids[np.arange(len(ids)), lengths - 1], VOCABULARY.eos_id)


def test_a_token_with_the_padding_id_is_not_padding(tmp_path):
    write_shard(tmp_path / "shard", [[3, PAD, 1], [3, 6, 7, 8, 1]])
    (batch,) = eval_batches([str(tmp_path / "shard")], DEFAULT_FEATURES, 100, MAX_LENGTH, PAD)
    assert sorted(batch["padding_mask"].numpy().sum(axis=1)) == [3, 5]


def test_a_batch_size_is_a_number_of_sentences(shards):
    arguments = shards["train"], DEFAULT_FEATURES, 100, MAX_LENGTH, PAD
    for found in (
        train_batches(*arguments, 0, 0, batch_size=3),
        eval_batches(*arguments, batch_size=3),
    ):
        sizes = [len(batch["input_ids"]) for batch in found]
        assert max(sizes) == 3
        # Each bucket of lengths has at most one smaller batch.
        assert sizes.count(3) > len(sizes) - len(bucket_lengths(MAX_LENGTH)) - 1


def test_padding_is_a_small_share(shards):
    found = batches(shards, 300)
    assert np.mean(np.concatenate([b["padding_mask"].ravel() for b in found])) > 0.8


def test_seed_and_epoch_decide_the_order(shards):
    def order(**options):
        tf.random.set_seed(0)
        return rows(batches(shards, **options))

    first = order(seed=5, epoch=2)
    assert order(seed=5, epoch=2) == first
    assert order(seed=5, epoch=3) != first
    assert order(seed=6, epoch=2) != first


def test_lengths_are_mixed_over_an_epoch(shards):
    widths = [b["input_ids"].shape[1] for b in batches(shards, 50)]
    assert np.mean(np.diff(widths) == 0) < 0.5


def test_evaluation_reads_every_sentence_once(shards):
    found = eval_batches(shards["heldout"], DEFAULT_FEATURES, 100, MAX_LENGTH, PAD)
    assert sorted(rows([{k: v.numpy() for k, v in b.items()} for b in found])) == sorted(HELDOUT)


@pytest.mark.parametrize("damage", [lambda c: c[:-5], lambda c: c[:40] + b"?" + c[41:]])
def test_a_damaged_shard_is_an_error_and_not_the_end_of_data(tmp_path, damage):
    path = tmp_path / "shard"
    write_shard(path, TRAIN[:20])
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(tf.errors.DataLossError):
        list(eval_batches([str(path)], DEFAULT_FEATURES, 100, MAX_LENGTH, PAD))


FEATURES = {
    **DEFAULT_FEATURES,
    "word_ids": {"dtype": "int64", "shape": [None]},
    "weights": {"dtype": "float32", "shape": [None]},
    "label": {"dtype": "int32", "shape": []},
    "vector": {"dtype": "float32", "shape": [3]},
}


def write_examples(path, rows):
    """Writes rows {name: list of int or float} as tf.train.Examples."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for row in rows:
            features = {
                name: tf.train.Feature(float_list=tf.train.FloatList(value=values))
                if FEATURES[name]["dtype"] == "float32"
                else tf.train.Feature(int64_list=tf.train.Int64List(value=values))
                for name, values in row.items()
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def example(ids, number):
    return {
        "input_ids": ids,
        "word_ids": [-1 - i for i in range(len(ids))],
        "weights": [number + i / 4 for i in range(len(ids))],
        "label": [number],
        "vector": [number, 0.5, -number],
    }


def test_other_features_come_with_their_sentence(tmp_path):
    rows = [example(ids, number) for number, ids in enumerate(TRAIN)]
    write_examples(tmp_path / "shard", rows)
    found = train_batches([str(tmp_path / "shard")], FEATURES, 100, MAX_LENGTH, PAD, 0, 0)
    assert {name: (spec.dtype, spec.shape.rank) for name, spec in found.element_spec.items()} == {
        "input_ids": (tf.int32, 2),
        "padding_mask": (tf.bool, 2),
        "word_ids": (tf.int64, 2),
        "weights": (tf.float32, 2),
        "label": (tf.int32, 1),
        "vector": (tf.float32, 2),
    }
    seen = []
    for batch in found.as_numpy_iterator():
        lengths = batch["padding_mask"].sum(axis=1)
        for b, number in enumerate(batch["label"].tolist()):
            length = lengths[b]
            for name in ("word_ids", "weights"):
                assert batch[name][b, :length].tolist() == rows[number][name]
                assert not batch[name][b, length:].any(), "padded with 0"
            assert batch["input_ids"][b, :length].tolist() == TRAIN[number]
            assert batch["vector"][b].tolist() == rows[number]["vector"]
            seen.append(number)
    assert sorted(seen) == list(range(len(TRAIN)))


def test_other_features_do_not_change_the_batches(tmp_path):
    write_examples(tmp_path / "shard", [example(ids, 1) for ids in TRAIN])

    def ids(features):
        tf.random.set_seed(0)
        shards = [str(tmp_path / "shard")]
        found = train_batches(shards, features, 100, MAX_LENGTH, PAD, 3, 1)
        return [batch["input_ids"].tolist() for batch in found.as_numpy_iterator()]

    assert ids(FEATURES) == ids(DEFAULT_FEATURES)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"word_ids": [1]}, "one value for three tokens"),
        ({"label": []}, "no value for the sentence"),
        ({"vector": [1.0]}, "one value instead of three"),
    ],
)
def test_a_feature_of_another_shape_is_an_error(tmp_path, change, why):
    write_examples(tmp_path / "shard", [example([3, 6, 1], 0) | change])
    with pytest.raises(tf.errors.InvalidArgumentError):
        list(eval_batches([str(tmp_path / "shard")], FEATURES, 100, MAX_LENGTH, PAD))
