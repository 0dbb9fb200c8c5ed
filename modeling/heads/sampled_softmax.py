"""Cross-entropy over a sample of the vocabulary: most of the gradient at a fraction of the cost.

The sum over all V pieces in a softmax is estimated from n pieces: the most frequent ones, and a
random draw from the others, weighted up to represent those that were not drawn. The target counts
once, with weight 1. The expectation of the estimate is the full sum (Horvitz and Thompson, 1952;
for a softmax, Jean et al., 2015, "On using very large target vocabulary for neural machine
translation"). Scores and evaluation use the full sum.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

from tta.errors import InputError
from tta.modeling.heads.cross_entropy import parts, penalized, with_gradients


class PieceSampler(keras.layers.Layer):
    """Draws the pieces of a sampled softmax.

    It is a layer, although it is never called: Keras then stores the state of its generator
    together with that of the dropouts.

    Args:
        counts: [V] int, how often each piece occurs in a text.
        num_pieces: n, 3 to V - 1. Two thirds are the most frequent pieces; one third is drawn
            from the others.
        seed: seed of the draws.

    Raises:
        InputError: num_pieces is not between 3 and V - 1.
    """

    def __init__(self, counts: np.ndarray, num_pieces: int, seed: int = 0, name: str = "sampler"):
        super().__init__(name=name)
        if not 3 <= num_pieces < len(counts):
            raise InputError(
                f"num_sampled_pieces must be 3 to {len(counts) - 1}, or 0 for all, not {num_pieces}"
            )
        self.num_drawn = num_pieces // 3
        order = np.argsort(-np.asarray(counts), kind="stable").astype(np.int32)
        self.frequent, self.others = np.split(order, [num_pieces - self.num_drawn])
        self.vocab_size = len(order)
        self.log_weights = np.zeros(num_pieces, np.float32)
        self.log_weights[len(self.frequent) :] = np.log(len(self.others) / self.num_drawn)
        self.generator = keras.random.SeedGenerator(seed)
        self.built = True

    def draw(self) -> Any:
        """Draws distinct pieces: [n] int32. `log_weights` has the logs of their weights in sums."""
        drawn = keras.random.shuffle(self.others, seed=self.generator)[: self.num_drawn]
        return ops.concatenate([self.frequent, drawn])


def sampled_cross_entropy(
    features: Any,
    table: Any,
    bias: Any,
    targets: Any,
    weights: Any,
    sampler: PieceSampler,
    penalty: float = 0.0,
) -> Any:
    """Estimates `tied_cross_entropy` and its gradients from n pieces that a sampler draws.

    New pieces are drawn for each part of the rows. The other arguments and the result are as in
    `tied_cross_entropy`.
    """
    slices = parts(features)
    draws = [sampler.draw() for _ in slices]

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

            # A target that was also drawn must count only once, with weight 1.
            is_drawn, place = _places(pieces, target, sampler.vocab_size)
            twin = ops.take_along_axis(logits, place[:, None], axis=-1)[:, 0]
            # Keras rejects `max` over zero rows without `initial`.
            highest = ops.max(logits, axis=-1, initial=float("-inf"))
            highest = ops.maximum(highest, target_logit)
            exponentials = ops.exp(logits - highest[:, None])
            correction = ops.exp(target_logit - highest) - is_drawn * ops.exp(twin - highest)
            normalizer = ops.sum(exponentials, axis=-1) + correction

            log_normalizer = highest + ops.log(normalizer)
            value, slope = penalized(log_normalizer, target_logit, weight, penalty)
            total += value

            # d loss / d logits at the drawn pieces, and at the target.
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
        return total, of_features, of_table, of_bias

    return with_gradients(loss, features, table, bias)


def _places(pieces, targets, vocab_size):
    """Finds targets among the pieces: [M] float32, 1 if found, else 0; and [M] int32, the index."""
    numbers = ops.arange(1, pieces.shape[0] + 1, dtype="int32")
    numbers = ops.scatter(pieces[:, None], numbers, (vocab_size,))  # 0 means not drawn
    number = ops.take(numbers, targets)
    return ops.cast(number > 0, "float32"), ops.maximum(number - 1, 0)
