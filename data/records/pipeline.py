"""From TFRecord shards to batches: length buckets under a token budget, repeatable by seed.

B batch, T tokens. A batch holds sentences of similar length, so that little of it is padding.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tta.data.records.examples import parse_record
from tta.data.records.features import INPUT_IDS, PADDING_MASK, Features, IdLimits, ModelInputs

# Sentences in the shuffle buffer. The shards themselves are already shuffled; the buffer only has
# to change the order from epoch to epoch.
SHUFFLE_SENTENCES = 16_384


def bucket_lengths(max_length: int) -> list[int]:
    """The padded lengths of batches, increasing up to `max_length`.

    Each is a tenth longer than the one before it, and at least 1. Then two percent of the tokens
    are padding (docs/experiments/performance.md).
    """
    lengths, length = [], 8
    while length < max_length:
        lengths.append(length)
        length += max(1, length // 10)
    return [*lengths, max_length]


def train_batches(
    shards: Sequence[str],
    features: Features,
    batch_tokens: int,
    max_length: int,
    pad_id: int,
    seed: int,
    epoch: int,
    vocab_size: int | None = None,
    batch_size: int | None = None,
) -> Any:
    """One epoch of training batches, in an order that depends on (seed, epoch).

    The order also depends on TensorFlow's global seed: set it (`tf.random.set_seed`) to the same
    value each time. A second pass over the same `Dataset` has another order, so make a new one for
    each pass.

    Args:
        shards: paths of TFRecord files.
        features: the features that the data set declares, `features` in its dataset.json.
        batch_tokens: the largest number of tokens in a batch, padding included.
        max_length: the longest sentence, boundary tokens included.
        pad_id: the id that pads `input_ids`. Other features per token are padded with 0.
        seed, epoch: non-negative ints.
        vocab_size: ids are smaller; None takes every int32.
        batch_size: number of sentences in a batch, in place of `batch_tokens`.

    Returns:
        `tf.data.Dataset` of dicts: every feature, [B, T] if it is per token (`input_ids` is int32)
        or [B] or [B, k] if it is per sentence, and `padding_mask` [B, T] bool, True at tokens.
        B * T is at most `batch_tokens`, except for a single longer sentence. Reading a record that
        is not as declared raises `tf.errors.InvalidArgumentError`; see `check_records`.
    """
    order = np.random.default_rng([seed, epoch])
    shuffled = [shards[i] for i in order.permutation(len(shards))]
    shuffle_seed = int(order.integers(2**31))
    sentences = _sentences(shuffled, features, IdLimits(max_length, vocab_size))
    sentences = sentences.shuffle(SHUFFLE_SENTENCES, seed=shuffle_seed)
    batches = _batch(
        sentences,
        features,
        batch_tokens=batch_tokens,
        batch_size=batch_size,
        max_length=max_length,
        pad_id=pad_id,
    )
    # Buckets fill at different rates. Shuffling their batches avoids runs of one length.
    return batches.shuffle(64, seed=shuffle_seed).prefetch(8)


def eval_batches(
    shards: Sequence[str],
    features: Features,
    batch_tokens: int,
    max_length: int,
    pad_id: int,
    vocab_size: int | None = None,
    batch_size: int | None = None,
) -> Any:
    """Every sentence once, in a fixed order; arguments and result as in `train_batches`."""
    sentences = _sentences(shards, features, IdLimits(max_length, vocab_size))
    batches = _batch(
        sentences,
        features,
        batch_tokens=batch_tokens,
        batch_size=batch_size,
        max_length=max_length,
        pad_id=pad_id,
    )
    return batches.prefetch(8)


def with_inputs(batches: Any, inputs: ModelInputs) -> Any:
    """Adds what a model reads besides ids to batches of `train_batches` or `eval_batches`."""
    return batches.map(inputs).prefetch(2) if inputs.changes_batches else batches


def _sentences(shards, features, limits):
    import tensorflow as tf

    # A single reader: with a second one the order would depend on their timing.
    return tf.data.TFRecordDataset(shards).map(
        lambda record: parse_record(record, features, limits),
        num_parallel_calls=2,
        deterministic=True,
    )


def _batch(sentences, features, *, batch_tokens, batch_size, max_length, pad_id):
    import tensorflow as tf

    lengths = bucket_lengths(max_length)
    padding = dict.fromkeys(features, 0) | {INPUT_IDS: -1}
    batches = sentences.bucket_by_sequence_length(
        element_length_func=lambda sentence: tf.size(sentence[INPUT_IDS]),
        bucket_boundaries=[length + 1 for length in lengths],
        # The last bucket is for sentences longer than max_length, and stays empty.
        bucket_batch_sizes=[
            batch_size or max(1, batch_tokens // length) for length in [*lengths, max_length]
        ],
        padded_shapes={name: feature["shape"] for name, feature in features.items()},
        padding_values={n: tf.constant(padding[n], f["dtype"]) for n, f in features.items()},
    )

    def finish(batch):
        mask = batch[INPUT_IDS] >= 0
        return batch | {INPUT_IDS: tf.where(mask, batch[INPUT_IDS], pad_id), PADDING_MASK: mask}

    return without_autotuning(batches.map(finish))


def without_autotuning(batches: Any) -> Any:
    """A `tf.data.Dataset` that tunes nothing.

    The thread of autotuning delays the end of an iterator (of an epoch, an evaluation, an
    interrupted run) by up to a minute.
    """
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.with_options(options)
