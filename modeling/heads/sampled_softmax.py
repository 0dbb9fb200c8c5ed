"""Cross-entropy over a part of the vocabulary: most of the gradient at a fraction of the cost.

The sum over all V pieces under a softmax is estimated from n of them: the frequent pieces, always,
and others drawn at random, each of which stands for as many as were not drawn. The target counts as
itself. The estimated sum's expectation is the sum (Horvitz and Thompson, 1952; for a softmax, Jean
et al., 2015, "On using very large target vocabulary for neural machine translation"). Scores and
evaluation take the whole sum.
"""

import keras
import numpy as np
from keras import ops

from tta.modeling.heads.cross_entropy import parts


class PieceSampler(keras.layers.Layer):
    """Draws the pieces that a softmax is computed over.

    A layer, though it is never called, so that the state of its generator is kept with that of the
    dropouts.

    Args:
        counts: [V] int, how often each piece occurs in some text.
        num_pieces: n, of which two thirds are the most frequent pieces and one third is drawn from
            the others; less than V.
        seed: int.

    Raises:
        ValueError: num_pieces is not between 3 and V - 1.
    """

    def __init__(self, counts, num_pieces, seed=0, name="sampler"):
        super().__init__(name=name)
        if not 3 <= num_pieces < len(counts):
            raise ValueError(f"num_pieces must be 3 to {len(counts) - 1}, not {num_pieces}")
        self.num_drawn = num_pieces // 3
        order = np.argsort(-np.asarray(counts), kind="stable").astype(np.int32)
        self.frequent, self.others = np.split(order, [num_pieces - self.num_drawn])
        self.vocab_size = len(order)
        self.log_weights = np.zeros(num_pieces, np.float32)
        self.log_weights[len(self.frequent) :] = np.log(len(self.others) / self.num_drawn)
        self.generator = keras.random.SeedGenerator(seed)
        self.built = True

    def draw(self):
        """[n] int32, no piece twice; the logarithm of what each stands for is `log_weights`."""
        drawn = keras.random.shuffle(self.others, seed=self.generator)[: self.num_drawn]
        return ops.concatenate([self.frequent, drawn])


def sampled_cross_entropy(
    features, table, bias, targets, weights, sampler, log_normalizer_weight=0.0
):
    """Estimates `tied_cross_entropy`, and its gradients, from the pieces that a sampler draws.

    M rows, D hidden size, V vocabulary, n pieces; they are drawn anew for each part of the rows.

    Args:
        features: [M, D] float.
        table: [V, D] float32.
        bias: [V] float32.
        targets: [M] int32.
        weights: [M] float32; takes no gradient.
        sampler: `PieceSampler`.
        log_normalizer_weight: see `tied_cross_entropy`.

    Returns:
        [] float32, natural log.
    """
    slices = parts(features)
    draws = [sampler.draw() for _ in slices]

    @ops.custom_gradient
    def loss(features, table, bias):
        total, of_features, of_rows, of_biases = 0.0, [], [], []
        for part, pieces in zip(slices, draws, strict=True):
            x, target, weight = features[part], targets[part], weights[part]
            rows = ops.cast(ops.take(table, pieces, axis=0), x.dtype)  # [n, D]
            logits = ops.cast(ops.matmul(x, ops.transpose(rows)), "float32")  # [m, n]
            logits += ops.take(bias, pieces) + sampler.log_weights
            target_rows = ops.take(table, target, axis=0)  # [m, D]
            target_logit = ops.sum(ops.cast(x, "float32") * target_rows, axis=-1)
            target_logit += ops.take(bias, target)

            # A target that was drawn, too, must count once: as itself, with weight 1.
            is_drawn, place = _places(pieces, target, sampler.vocab_size)
            twin = ops.take_along_axis(logits, place[:, None], axis=-1)[:, 0]
            # (An initial value, for Keras refuses the maximum of a part without rows.)
            highest = ops.max(logits, axis=-1, initial=float("-inf"))
            highest = ops.maximum(highest, target_logit)
            exponentials = ops.exp(logits - highest[:, None])
            correction = ops.exp(target_logit - highest) - is_drawn * ops.exp(twin - highest)
            normalizer = ops.sum(exponentials, axis=-1) + correction

            log_normalizer = highest + ops.log(normalizer)
            loss_of_rows = log_normalizer - target_logit
            slope = weight
            if log_normalizer_weight:
                loss_of_rows += log_normalizer_weight * ops.square(log_normalizer)
                slope = weight * (1.0 + 2.0 * log_normalizer_weight * log_normalizer)
            total += ops.sum(weight * loss_of_rows)

            # d loss / d logits: at the pieces drawn, and at the target.
            softmax = ops.cast(exponentials * (slope / normalizer)[:, None], x.dtype)
            at_target = slope * correction / normalizer - weight
            of_features.append(
                ops.cast(ops.matmul(softmax, rows), "float32") + at_target[:, None] * target_rows
            )
            of_rows += [
                ops.cast(ops.matmul(ops.transpose(softmax), x), "float32"),
                at_target[:, None] * ops.cast(x, "float32"),
            ]
            of_biases += [ops.sum(ops.cast(softmax, "float32"), axis=0), at_target]
        pairs = zip(draws, slices, strict=True)
        owners = ops.concatenate([x for pieces, part in pairs for x in (pieces, targets[part])])
        of_features = ops.concatenate(of_features)
        of_table = ops.segment_sum(ops.concatenate(of_rows), owners, table.shape[0])
        of_bias = ops.segment_sum(ops.concatenate(of_biases), owners, table.shape[0])

        def gradient(*args, upstream=None):
            if upstream is None:
                (upstream,) = args
            return (
                ops.cast(upstream * of_features, features.dtype),
                upstream * of_table,
                upstream * of_bias,
            )

        return total, gradient

    # Values, not variables: outside a graph, TensorFlow asks for the gradients of those apart.
    return loss(features, ops.copy(table), ops.copy(bias))


def _places(pieces, targets, vocab_size):
    """Where each target is among the pieces: ([M] float32, 1 where it is; [M] int32, 0 if not)."""
    numbers = ops.arange(1, pieces.shape[0] + 1, dtype="int32")
    numbers = ops.scatter(pieces[:, None], numbers, (vocab_size,))  # 0: not drawn
    number = ops.take(numbers, targets)
    return ops.cast(number > 0, "float32"), ops.maximum(number - 1, 0)
