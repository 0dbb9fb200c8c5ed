"""From TFRecord shards to batches: length buckets under a token budget, the same for a same seed.

B batch, T tokens. A batch holds sentences of about one length: short ones do not pay for long ones.
"""

import numpy as np

from tta.data.records.tfrecord import parse_record

# Batches are shuffled within the records of this many sentences; the shards themselves are
# shuffled when they are written, so this only has to mix one epoch's order anew.
SHUFFLE_SENTENCES = 16_384


def bucket_lengths(max_length):
    """The padded lengths that batches have: an eighth apart, at least 2, up to max_length.

    Returns:
        Increasing ints, the last is max_length.
    """
    lengths, length = [], 8
    while length < max_length:
        lengths.append(length)
        length += max(2, length // 8)
    return [*lengths, max_length]


def train_batches(shards, batch_tokens, max_length, pad_id, seed, epoch):
    """One epoch of training batches, in an order that (seed, epoch) decides.

    TensorFlow's global seed takes part, so set it (`tf.random.set_seed`) to the same each time. A
    second pass over one and the same `Dataset` has another order: make it anew for each.

    Args:
        shards: paths of TFRecord files.
        batch_tokens: tokens in a batch, padding included.
        max_length: the longest sentence, boundary tokens included.
        pad_id: id that fills up.
        seed, epoch: non-negative ints.

    Returns:
        `tf.data.Dataset` of {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}, B * T at
        most batch_tokens.
    """
    order = np.random.default_rng([seed, epoch])
    shards = [shards[i] for i in order.permutation(len(shards))]
    shuffle_seed = int(order.integers(2**31))
    sentences = _sentences(shards).shuffle(SHUFFLE_SENTENCES, seed=shuffle_seed)
    batches = _batch(sentences, batch_tokens, max_length, pad_id)
    # Buckets fill at their own pace; mixing their batches keeps lengths from coming in runs.
    return batches.shuffle(64, seed=shuffle_seed).prefetch(8)


def eval_batches(shards, batch_tokens, max_length, pad_id):
    """Every sentence once, in no order that matters; arguments and result as `train_batches`."""
    return _batch(_sentences(shards), batch_tokens, max_length, pad_id).prefetch(8)


def _sentences(shards):
    import tensorflow as tf

    # A second reader would make the order depend on their race.
    return tf.data.TFRecordDataset(shards).map(
        parse_record, num_parallel_calls=2, deterministic=True
    )


def _batch(sentences, batch_tokens, max_length, pad_id):
    import tensorflow as tf

    lengths = bucket_lengths(max_length)
    batches = sentences.bucket_by_sequence_length(
        element_length_func=tf.size,
        bucket_boundaries=[length + 1 for length in lengths],
        # The last, empty bucket would hold what is longer than the model takes.
        bucket_batch_sizes=[max(1, batch_tokens // length) for length in [*lengths, max_length]],
        padded_shapes=[None],
        padding_values=tf.constant(-1, tf.int32),
    )

    def finish(ids):
        mask = ids >= 0
        return {"input_ids": tf.where(mask, ids, pad_id), "padding_mask": mask}

    # Nothing here is left to autotuning, and its thread holds up the end of an iterator (of an
    # epoch, an evaluation, a run that is told to stop) by up to a minute.
    options = tf.data.Options()
    options.autotune.enabled = False
    return batches.map(finish).with_options(options)
