"""TFRecord files of token ids: how a record, a shard's name and a data set's description look.

A record is a `tf.train.Example` with one int64 feature, `input_ids`: a sentence's ids, begin and
end included. A data set is a folder of `train-00000-of-00064.tfrecord` and the like, with
`heldout-*` beside them, and `dataset.json`, written last: without it the set is not complete.
"""

import functools
import itertools
import json
import re
from pathlib import Path

import numpy as np

from tta.errors import InputError

FORMAT_VERSION = 1
FEATURE = "input_ids"
INFO_FILE = "dataset.json"
TRAIN, HELDOUT = "train", "heldout"

_SHARD_NAME = re.compile(rf"({TRAIN}|{HELDOUT})-\d{{5}}-of-\d{{5}}\.tfrecord")


def shard_name(split, index, count):
    """The file name of one shard: `train-00000-of-00064.tfrecord`."""
    return f"{split}-{index:05d}-of-{count:05d}.tfrecord"


def is_shard_name(name):
    """Whether a file's name is one that `shard_name` makes."""
    return _SHARD_NAME.fullmatch(name) is not None


def encode_records(ids, lengths):
    """Serializes sentences as `tf.train.Example`s, 10 times as fast as `tf.train.Example` does.

    Args:
        ids: the ids of all sentences one after another, [sum of lengths], int, not negative.
        lengths: how many ids each sentence has, [N] int.

    Yields:
        N records, bytes.
    """
    varints, widths = _varints(np.asarray(ids))
    first_byte = np.concatenate([[0], np.cumsum(widths)])
    bounds = first_byte[np.concatenate([[0], np.cumsum(lengths)])].tolist()
    for start, stop in itertools.pairwise(bounds):
        yield _record_head(stop - start) + varints[start:stop]


def parse_record(record):
    """Reads one record inside a graph (`tf.data.Dataset.map`).

    Args:
        record: a scalar string tensor.

    Returns:
        Token ids, begin and end included, int32 [T].
    """
    import tensorflow as tf

    feature = tf.io.RaggedFeature(tf.int64)
    return tf.cast(tf.io.parse_single_example(record, {FEATURE: feature})[FEATURE], tf.int32)


def read_sentences(path):
    """Iterates over the sentences of one shard.

    Args:
        path: a TFRecord file.

    Yields:
        Token ids, begin and end included, int32 [T].

    Raises:
        InputError: the file is missing, truncated or damaged (names the record, counted from 1),
            or a record is not one of ours.
    """
    import tensorflow as tf

    if not Path(path).is_file():
        raise InputError("no such file", path)
    number = 0
    try:
        for number, record in enumerate(tf.data.TFRecordDataset(str(path)), start=1):
            example = tf.train.Example.FromString(record.numpy())
            if FEATURE not in example.features.feature:
                raise InputError(f"record {number} has no feature {FEATURE!r}", path)
            yield np.array(example.features.feature[FEATURE].int64_list.value, np.int32)
    except tf.errors.DataLossError:
        raise InputError(f"record {number + 1} is truncated or damaged", path) from None


def load_dataset_info(directory):
    """Reads the description of a complete data set.

    Args:
        directory: the folder that tta-create-tfrecords wrote.

    Returns:
        A dict, as in dataset.json.

    Raises:
        InputError: dataset.json is missing (the set is not complete), malformed or of another
            version, or a shard that it counts is missing.
    """
    path = Path(directory) / INFO_FILE
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"not a complete data set: it has no {INFO_FILE}", directory) from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}", path) from None
    version = info.get("format_version") if isinstance(info, dict) else None
    if version != FORMAT_VERSION:
        raise InputError(f"format_version must be {FORMAT_VERSION}, got {version!r}", path)
    for split in info["splits"]:
        for shard in shard_paths(directory, info, split):
            if not Path(shard).is_file():
                raise InputError(f"the shard {Path(shard).name} is missing", path)
    return info


def shard_paths(directory, info, split):
    """The paths (list of str) of a split's shards; empty if there is no such split."""
    count = info["splits"].get(split, {}).get("shards", 0)
    return [str(Path(directory) / shard_name(split, i, count)) for i in range(count)]


def _varints(ids):
    """Encodes integers as protocol buffer varints: bytes, and how many bytes each one takes."""
    septets = np.empty((len(ids), 5), np.uint8)  # Five times seven bits hold an int32.
    rest = ids.astype(np.uint32)
    widths = np.ones(len(ids), np.int64)
    for column in range(5):
        septets[:, column] = rest & 0x7F
        rest = rest >> 7
        widths += rest > 0
    position = np.arange(5)
    septets[position < (widths - 1)[:, None]] |= 0x80  # "More bytes follow."
    return septets[position < widths[:, None]].tobytes(), widths


@functools.cache
def _record_head(size):
    """All bytes of an Example before the `size` bytes of its ids."""

    def field(number, content_size):  # Tag of a length-delimited field, then its length.
        return bytes([number << 3 | 2]) + _varints(np.array([content_size]))[0]

    head = field(1, size)  # Int64List.value, packed
    head = field(3, len(head) + size) + head  # Feature.int64_list
    value = field(2, len(head) + size) + head  # map entry's value
    entry = field(1, len(FEATURE)) + FEATURE.encode() + value  # map entry's key
    entry = field(1, len(entry) + size) + entry  # Features.feature
    return field(1, len(entry) + size) + entry  # Example.features
