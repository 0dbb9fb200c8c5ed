"""TFRecord files of token ids: how a record, a shard's name and a data set's description look.

A record is a `tf.train.Example` with one int64 feature, `input_ids`: a sentence's ids, begin and
end included. A data set is a folder of `train-00000-of-00064.tfrecord` and the like, with
`heldout-*` beside them, and `dataset.json`, written last: without it the set is not complete.
"""

import collections
import functools
import itertools
import json
import re
from pathlib import Path

import numpy as np

from tta.data.text.files import read_text
from tta.errors import InputError

FORMAT_VERSION = 1
FEATURE = "input_ids"
INFO_FILE = "dataset.json"
TRAIN, HELDOUT = "train", "heldout"

# What a description is refused without, and of which type.
_KEYS = {
    "vocab_size": int,
    "vocab_sha256": str,
    "lower_case": bool,
    "max_seq_length": int,
    "splits": dict,
}

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
    from google.protobuf import message

    if not Path(path).is_file():
        raise InputError("no such file", path)
    number = 0
    try:
        for number, record in enumerate(tf.data.TFRecordDataset(str(path)), start=1):
            features = tf.train.Example.FromString(record.numpy()).features.feature
            if FEATURE not in features:
                raise InputError(f"record {number} has no feature {FEATURE!r}", path)
            yield np.array(features[FEATURE].int64_list.value, np.int32)
    except message.DecodeError:
        raise InputError(f"record {number} is no tf.train.Example", path) from None
    except tf.errors.DataLossError:
        raise InputError(f"record {number + 1} is truncated or damaged", path) from None


def check_records(paths):
    """Reads shards from end to end.

    Args:
        paths: of TFRecord files.

    Raises:
        InputError: one is missing or damaged; as `read_sentences`.
    """
    import tensorflow as tf

    for path in paths:
        try:
            # Some hundred times as fast as read_sentences, which then says where the damage is.
            tf.data.TFRecordDataset(path).map(parse_record).reduce(0, lambda count, _: count + 1)
        except tf.errors.OpError:
            collections.deque(read_sentences(path), maxlen=0)
            raise InputError("a record is damaged", path) from None


def load_dataset_info(directory):
    """Reads the description of a complete data set and checks its shards by their sizes.

    Args:
        directory: the folder that tta-create-tfrecords wrote.

    Returns:
        A dict, as in dataset.json: `format_version`, `vocab_size`, `vocab_sha256`, `lower_case`,
        `max_seq_length` and the other options of `tta.data.corpus.prepare.Options`, `counts`, `sources`,
        and `splits`, of `train` and `heldout` each: `shards`, `sentences`, `tokens` (begin and end
        included) and `shard_bytes`, the size of each file.

    Raises:
        InputError: dataset.json is missing (the set is not complete), malformed or of another
            version, or a shard is missing or of another size.
    """
    path = Path(directory) / INFO_FILE
    if not path.exists():
        raise InputError(f"not a complete data set: it has no {INFO_FILE}", directory)
    try:
        info = json.loads(read_text(path))
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}", path) from None
    version = info.get("format_version") if isinstance(info, dict) else None
    if version != FORMAT_VERSION:
        raise InputError(f"format_version must be {FORMAT_VERSION}, got {version!r}", path)
    for key, kind in _KEYS.items():
        if key not in info:
            raise InputError(f"the key {key!r} is missing", path)
        if type(info[key]) is not kind:
            raise InputError(f"{key} must be of type {kind.__name__}, got {info[key]!r}", path)
        if kind is int and info[key] < 1:
            raise InputError(f"{key} must be at least 1, got {info[key]}", path)
    if TRAIN not in info["splits"]:
        raise InputError(f"it has no {TRAIN} split", path)
    for name, split in info["splits"].items():
        if name not in (TRAIN, HELDOUT):
            raise InputError(f"{name!r} is no split: they are {TRAIN} and {HELDOUT}", path)
        count, sizes = (
            (split.get("shards"), split.get("shard_bytes")) if type(split) is dict else (0, 0)
        )
        if type(count) is not int or type(sizes) is not list:
            raise InputError(f"split {name!r} needs shards and shard_bytes", path)
        if count != len(sizes):
            raise InputError(
                f"split {name!r} has {count} shards but {len(sizes)} shard_bytes", path
            )
        for shard, size in zip(shard_paths(directory, info, name), sizes, strict=True):
            _check_shard(Path(shard), size)
    return info


def shard_paths(directory, info, split):
    """The paths (list of str) of a split's shards; empty if there is no such split."""
    count = info["splits"].get(split, {}).get("shards", 0)
    return [str(Path(directory) / shard_name(split, i, count)) for i in range(count)]


def _check_shard(path, size):
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        raise InputError("the shard is missing", path) from None
    if found != size:
        raise InputError(f"the shard has {found} bytes, {INFO_FILE} says {size}", path)


def _varints(ids):
    """Encodes integers as protocol buffer varints: bytes, and how many bytes each one takes."""
    rest = ids.astype(np.uint32)
    columns = max(1, -(-int(rest.max(initial=0)).bit_length() // 7))  # Seven bits a byte.
    septets = np.empty((len(ids), columns), np.uint8)
    widths = np.ones(len(ids), np.int64)
    for column in range(columns):
        septets[:, column] = rest & 0x7F
        rest >>= 7
        widths += rest > 0
    position = np.arange(columns)
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
