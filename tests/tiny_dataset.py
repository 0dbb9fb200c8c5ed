"""A tiny data set of token ids on disk, as tta create-tfrecords writes it."""

import functools
import json

import numpy as np
import tensorflow as tf

from tta.data.records.dataset import FORMAT_VERSION, shard_name
from tta.data.records.examples import encode_records
from tta.data.records.features import DEFAULT_FEATURES
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.names import DATASET

VOCABULARY = Vocabulary((*TTA_SPECIALS, *"abcdefghijklmnopqr"))  # 23 pieces
MAX_LENGTH = 17


def sentences(count, seed=0):
    """Runs of the alphabet, forwards or backwards: easy to learn from both sides.

    Returns:
        Lists of ids, begin and end included, 3 to MAX_LENGTH long.
    """
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(count):
        first, length = rng.integers(0, 18), rng.integers(1, MAX_LENGTH - 1)
        letters = 5 + (first + rng.choice([-1, 1]) * np.arange(length)) % 18
        result.append([VOCABULARY.bos_id, *letters.tolist(), VOCABULARY.eos_id])
    return result


def sentences_of_few_lengths():
    """Sentences that make 5 batches an epoch of 100 tokens, in 4 shapes.

    Training compiles once per shape, device and process.
    """
    return [one for one in sentences(120) if len(one) in (6, 12, 17)]


def sentences_of(counts, seed=0):
    """Sentences of some lengths, {length: count}.

    A batch of 100 tokens has 12 sentences of length 6, 8 of 12, or 5 of 17.
    """
    found, left = [], dict(counts)
    for one in sentences(40 * max(counts.values()), seed):
        if left.get(len(one)):
            left[len(one)] -= 1
            found.append(one)
    assert not any(left.values())
    return found


def write_shard(path, ids):
    """Writes lists of ids into one TFRecord file."""
    flat = np.array([i for one in ids for i in one], np.int64)
    lengths = np.array([len(one) for one in ids], np.int64)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in encode_records(flat, lengths):
            writer.write(record)


def write_shard_with(extra, path, ids):
    """Writes lists of ids with further float features, {name: function of an id}."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for one in ids:
            example = tf.train.Example()
            example.features.feature["input_ids"].int64_list.value.extend(one)
            for name, function in extra.items():
                example.features.feature[name].float_list.value.extend(map(function, one))
            writer.write(example.SerializeToString())


def write_dataset(directory, train, heldout=(), num_shards=3, extra=None):
    """Writes a complete data set; train and heldout are lists of lists of ids.

    `extra`, {name: function of an id -> float}, adds float features per token.
    """
    directory.mkdir(parents=True, exist_ok=True)
    VOCABULARY.save(directory / "vocab.txt", overwrite=True)
    splits = {}
    for name, ids, count in [("train", train, num_shards), ("heldout", heldout, 1)]:
        if not ids:
            continue
        paths = [directory / shard_name(name, i, count) for i in range(count)]
        for i, path in enumerate(paths):
            write = functools.partial(write_shard_with, extra) if extra else write_shard
            write(path, ids[i::count])
        splits[name] = {
            "shards": count,
            "sentences": len(ids),
            "tokens": sum(map(len, ids)),
            "shard_bytes": [path.stat().st_size for path in paths],
        }
    info = {
        "format_version": FORMAT_VERSION,
        "vocab_size": len(VOCABULARY),
        "vocab_sha256": VOCABULARY.sha256,
        "lower_case": True,
        "max_seq_length": MAX_LENGTH,
        "sources": ["letters.txt"],
        "splits": splits,
    }
    if extra:
        floats = {"dtype": "float32", "shape": [None]}
        info["features"] = DEFAULT_FEATURES | dict.fromkeys(extra, floats)
    (directory / DATASET).write_text(json.dumps(info))
    return directory
