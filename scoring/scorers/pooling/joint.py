"""The representation `joint`: whitened token rows and the last layer's outputs, side by side.

Token rows tell which words two sentences share, outputs what they are about.

`learn_weights` learns how much each piece counts among the token rows. It needs no labels, and no
pass of the model.

N sentences, V vocabulary, D vector size, H hidden size.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

JOINT = "joint"

# Chosen on STS-B dev and SICK train (docs/training.md): a constant beside the whitened token rows,
# whose length is 1, and the share of the outputs in the cosine.
JOINT_CONSTANT, JOINT_CONTEXT = 0.3, 0.3

# Chosen on the same two sets. The weights start from those of `sif`; many steps lose what these
# know of rare pieces.
NUM_STEPS, BATCH_SENTENCES, LEARNING_RATE, TEMPERATURE = 120, 1024, 0.01, 0.1
MIN_PIECES = 8  # half of a shorter sentence says too little


def join(token: np.ndarray, context: np.ndarray) -> np.ndarray:
    """Joins two vectors of each of N sentences, so that cosines use both: [N, D + 1 + H] float32.

    The cosine of two joined vectors is a weighted mean of two cosines: that of the outputs has the
    weight `JOINT_CONTEXT`, that of token rows and a constant the rest. Where the rows of the pieces
    of a sentence cancel each other out, their mean is short, and its direction says little. The
    constant makes such sentences less dissimilar.

    Args:
        token: [N, D], weighted means of whitened token rows.
        context: [N, H], means of the last layer's outputs.

    Returns:
        Vectors of length 1; zeros for a sentence without pieces.
    """
    has_pieces = np.any(context, axis=1, keepdims=True)
    rows = np.concatenate([token, JOINT_CONSTANT * has_pieces], axis=1)
    shares = (1.0 - JOINT_CONTEXT, rows), (JOINT_CONTEXT, context)
    joined = [np.sqrt(share) * _of_length_1(vectors) for share, vectors in shares]
    return np.concatenate(joined, axis=1).astype(np.float32)


def _of_length_1(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


def learn_weights(rows: np.ndarray, ids: Sequence[np.ndarray], weights: np.ndarray) -> np.ndarray:
    """Learns weights of pieces with which the two halves of a sentence find each other.

    The vector of a half is the sum of its rows, each times the weight of its piece. A half should
    have a larger cosine with the other half of its sentence than with those of the other sentences
    of a batch: `contrast` is minimized by Adam. A piece that says little about the other half
    loses weight.

    Args:
        rows: [V, D] float32, the whitened token rows.
        ids: the ids of the pieces of sentences in random order. Those with fewer than `MIN_PIECES`
            are left out; of the others, `NUM_STEPS * BATCH_SENTENCES` are used at most.
        weights: [V] float32, above 0: the weights to start from.

    Returns:
        [V] float32, above 0; `weights` themselves if fewer than two sentences are long enough.
    """
    import keras
    import tensorflow as tf

    halves = [(s[: len(s) // 2], s[len(s) // 2 :]) for s in ids if len(s) >= MIN_PIECES]
    if len(halves) < 2:
        return weights
    first, second = (_counts(half, len(weights)) for half in zip(*halves, strict=True))
    log_weights = tf.Variable(tf.math.log(weights))
    optimizer = keras.optimizers.Adam(LEARNING_RATE)
    size = min(BATCH_SENTENCES, len(halves))
    for step in range(NUM_STEPS):
        batch = np.arange(step * size, (step + 1) * size) % len(halves)
        with tf.GradientTape() as tape:
            weighted = tf.exp(log_weights)[:, None] * rows
            vectors = [
                tf.sparse.sparse_dense_matmul(_sparse(c[batch]), weighted) for c in (first, second)
            ]
            loss = contrast(*vectors)
        optimizer.apply([tape.gradient(loss, log_weights)], [log_weights])
    return np.exp(log_weights.numpy())


def contrast(first: Any, second: Any) -> Any:
    """The mean cross-entropy (natural log) of finding row i of one among all rows of the other.

    Args:
        first, second: [B, D] float32 tensors. The scores are cosines divided by `TEMPERATURE`.

    Returns:
        A scalar: the mean of both directions.
    """
    from keras import ops

    first, second = (ops.normalize(v, axis=-1, order=2) for v in (first, second))
    scores = ops.matmul(first, ops.transpose(second)) / TEMPERATURE
    log_sums = (ops.logsumexp(scores, axis=0) + ops.logsumexp(scores, axis=1)) / 2
    return ops.mean(log_sums - ops.diagonal(scores))


def _counts(sentences, vocab_size):
    """How often each piece occurs in each sentence: a sparse matrix [N, V] float32."""
    from scipy.sparse import csr_array

    ends = np.cumsum([0, *map(len, sentences)])
    columns = np.concatenate(sentences)
    ones = np.ones(len(columns), np.float32)
    counts = csr_array((ones, columns, ends), (len(sentences), vocab_size))
    counts.sum_duplicates()
    return counts


def _sparse(matrix):
    """A scipy matrix as a TensorFlow one."""
    import tensorflow as tf

    matrix = matrix.tocoo()
    return tf.SparseTensor(np.stack(matrix.coords, axis=1), matrix.data, matrix.shape)
