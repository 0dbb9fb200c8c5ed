"""Records of TFRecord files: one `tf.train.Example` per sentence.

The feature `input_ids` (int64) has the ids of the tokens, begin and end included. A data set may
declare more features, see `tta.data.records.features`.
"""

import collections
import functools
import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tta.data.records.features import INPUT_IDS, PER_TOKEN, Features, IdLimits
from tta.errors import InputError, located


def encode_records(ids: np.ndarray, lengths: np.ndarray) -> Iterator[bytes]:
    """Serializes N sentences as `tf.train.Example`s, 10 times as fast as that class does.

    `ids` are those of all sentences one after another, [sum of lengths] int, not negative, and
    `lengths` the numbers of ids of each sentence, [N] int.
    """
    varints, widths = _varints(ids)
    first_byte = np.concatenate([[0], np.cumsum(widths)])
    bounds = first_byte[np.concatenate([[0], np.cumsum(lengths)])].tolist()
    for start, stop in itertools.pairwise(bounds):
        yield record_head(stop - start) + varints[start:stop]


def parse_record(record: Any, features: Features, limits: IdLimits | None = None) -> dict[str, Any]:
    """Reads one record, a scalar string tensor, inside a graph (`tf.data.Dataset.map`).

    Returns {name: tensor}: [T] for a feature per token, [] or [k] for a feature per sentence.

    Raises:
        tf.errors.InvalidArgumentError: the record does not have these features, the features
            per token differ in their length, a number is not finite, or the ids are not within
            the limits.
    """
    import tensorflow as tf

    schema = {}
    for name, feature in features.items():
        dtype = tf.float32 if feature["dtype"] == "float32" else tf.int64  # what an Example stores
        if feature["shape"] == PER_TOKEN:
            schema[name] = tf.io.RaggedFeature(dtype)
        else:
            schema[name] = tf.io.FixedLenFeature(feature["shape"], dtype)
    parsed = tf.io.parse_single_example(record, schema)
    for name, feature in features.items():
        if feature["shape"] == PER_TOKEN and name != INPUT_IDS:
            tf.debugging.assert_equal(tf.size(parsed[name]), tf.size(parsed[INPUT_IDS]), name)
        if feature["dtype"] == "float32":
            tf.debugging.assert_all_finite(parsed[name], name)
    if limits is not None:
        ids, count = parsed[INPUT_IDS], tf.size(parsed[INPUT_IDS])
        good = (count >= limits.min_length) & (count <= limits.max_length)
        good &= tf.reduce_all((ids >= 0) & (ids < tf.constant(limits.id_bound, tf.int64)))
        # A single assertion, which costs a tenth of one per rule.
        tf.debugging.Assert(good, [f"{limits.count_rule}; {limits.id_rule}"])
    return {name: tf.cast(value, features[name]["dtype"]) for name, value in parsed.items()}


def read_sentences(path: Path | str, limits: IdLimits | None = None) -> Iterator[np.ndarray]:
    """Yields the sentences of a TFRecord file: token ids, begin and end included, [T] int32.

    Raises InputError if the file is missing, or a record is truncated, damaged, not an Example,
    without `input_ids` or not within the limits. The message names the record, counted from 1.
    """
    import tensorflow as tf
    from google.protobuf import message

    if not Path(path).is_file():
        raise InputError("no such file", path)
    number = 0
    try:
        for number, record in enumerate(tf.data.TFRecordDataset(str(path)), start=1):
            features = tf.train.Example.FromString(record.numpy()).features.feature
            if INPUT_IDS not in features:
                raise InputError(f"record {number} has no feature {INPUT_IDS!r}", path)
            ids = np.array(features[INPUT_IDS].int64_list.value, np.int64)
            if limits is not None:
                with located(what=f"record {number}", path=path):
                    limits.check(ids)
            yield ids.astype(np.int32)
    except message.DecodeError:
        raise InputError(f"record {number} is not a tf.train.Example", path) from None
    except tf.errors.DataLossError:
        raise InputError(f"record {number + 1} is truncated or damaged", path) from None


def check_records(paths: Iterable[str], features: Features, limits: IdLimits) -> None:
    """Reads shards from end to end and checks that records are as dataset.json says.

    Raises InputError if a shard is damaged (see `read_sentences`), or a record lacks the features.
    """
    import tensorflow as tf

    for path in paths:
        try:
            # About a hundred times as fast as read_sentences, which then only finds the record.
            records = tf.data.TFRecordDataset(path).map(lambda r: parse_record(r, features, limits))
            records.reduce(0, lambda count, _: count + 1)
        except (tf.errors.OpError, UnicodeDecodeError):  # a message with bytes of the shard
            collections.deque(read_sentences(path, limits), maxlen=0)
            names = ", ".join(features)
            raise InputError(f"a record does not have the features {names}", path) from None


def _varints(ids):
    """Encodes integers as protocol buffer varints: their bytes, and the width of each in bytes."""
    remaining = ids.astype(np.uint32)
    # A byte holds seven bits.
    columns = max(1, -(-int(remaining.max(initial=0)).bit_length() // 7))
    septets = np.empty((len(ids), columns), np.uint8)
    widths = np.ones(len(ids), np.int64)
    for column in range(columns):
        septets[:, column] = remaining & 0x7F
        remaining >>= 7
        widths += remaining > 0
    position = np.arange(columns)
    septets[position < (widths - 1)[:, None]] |= 0x80  # The high bit means: more bytes follow.
    return septets[position < widths[:, None]].tobytes(), widths


def _message_field(number, content_size):
    """What stands before the content of a field, in bytes: its tag, and its length."""
    return bytes([number << 3 | 2]) + _varints(np.array([content_size]))[0]


@functools.cache
def record_head(size: int) -> bytes:
    """All bytes of an Example before the `size` bytes of its ids."""
    head = _message_field(1, size)  # Int64List.value, packed
    head = _message_field(3, len(head) + size) + head  # Feature.int64_list
    value = _message_field(2, len(head) + size) + head  # the value of the map entry
    key = _message_field(1, len(INPUT_IDS)) + INPUT_IDS.encode()
    entry = key + value  # of the map
    entry = _message_field(1, len(entry) + size) + entry  # Features.feature
    return _message_field(1, len(entry) + size) + entry  # Example.features
