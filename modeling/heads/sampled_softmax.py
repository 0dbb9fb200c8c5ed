"""Cross-entropy over a sample of the vocabulary: most of the gradient at a fraction of the cost.

The sum over all V pieces in a softmax is estimated from n pieces: the most frequent ones, and a
random draw from the others, weighted up to represent those that were not drawn; or from a random
draw in which frequent pieces are more probable. The target counts once, with weight 1
(`CandidateSampler` differs). The expectation of the estimate is the full sum (Horvitz and Thompson,
1952; for a softmax, Jean et al., 2015, "On using very large target vocabulary for neural machine
translation"). Scores and evaluation use the full sum.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

from tta.errors import InputError
from tta.modeling.heads.cross_entropy import (
    exponentials_and_sums,
    parts,
    penalized,
    products_of_softmax,
    upper_bound,
    with_gradients,
)
from tta.modeling.kits.types import Tensor


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

    weighs_target = False

    def __init__(self, counts: np.ndarray, num_pieces: int, seed: int = 0, name: str = "sampler"):
        super().__init__(name=name)
        _check_count(num_pieces, len(counts))
        self.num_drawn = num_pieces // 3
        order = np.argsort(-np.asarray(counts), kind="stable").astype(np.int32)
        self.frequent, self.others = np.split(order, [num_pieces - self.num_drawn])
        self.vocab_size = len(order)
        self._log_weights = np.zeros(num_pieces, np.float32)
        self._log_weights[len(self.frequent) :] = np.log(len(self.others) / self.num_drawn)
        self.generator = keras.random.SeedGenerator(seed)
        self.built = True

    def draw(self, count: int) -> list[Any]:
        """Draws distinct pieces, `count` times: a list of [n] int32, the frequent pieces first.

        The draws repeat a piece only after all others were drawn.
        """
        shuffled = keras.random.shuffle(self.others, seed=self.generator)
        positions = np.arange(count * self.num_drawn) % len(self.others)
        drawn = ops.split(ops.take(shuffled, positions), count)
        return [ops.concatenate([self.frequent, pieces]) for pieces in drawn]

    def log_weights(self, pieces: Tensor) -> Any:
        """The logarithms of the weights of drawn pieces in a sum: [n] -> [n] float32."""
        return self._log_weights


class LogUniformSampler(keras.layers.Layer):
    """Draws the pieces of a sampled softmax from a log-uniform distribution, as ELMo does.

    The piece of rank r, from 0, has the probability p = log((r + 2) / (r + 1)) / log(V + 1), as in
    TensorFlow's sampled softmax. Pieces are drawn without replacement. The weight of a piece is 1
    over the probability that it is among the n drawn ones, 1 - (1 - p)^t, where t is such that
    these probabilities add up to n.

    Arguments and errors are as in `PieceSampler`.
    """

    frequent = np.zeros(0, np.int32)  # no piece is always there
    weighs_target = False

    def __init__(self, counts: np.ndarray, num_pieces: int, seed: int = 0, name: str = "sampler"):
        super().__init__(name=name)
        _check_count(num_pieces, len(counts))
        self.num_pieces = num_pieces
        self.vocab_size = len(counts)
        ranks = np.empty(len(counts), np.int64)
        ranks[np.argsort(-np.asarray(counts), kind="stable")] = np.arange(len(counts))
        probabilities = np.log1p(1 / (ranks + 1)) / np.log(len(counts) + 1)
        self._log_probabilities = np.log(probabilities).astype(np.float32)
        self._all_log_weights = -np.log(_inclusion(probabilities, num_pieces)).astype(np.float32)
        self.generator = keras.random.SeedGenerator(seed)
        self.built = True

    def draw(self, count: int) -> list[Any]:
        """Draws n distinct pieces, one draw for all `count` parts: a list of [n] int32."""
        # The n largest of log p plus Gumbel noise are a draw without replacement.
        uniform = keras.random.uniform((self.vocab_size,), 1e-7, 1.0, seed=self.generator)
        _, pieces = ops.top_k(self._log_probabilities - ops.log(-ops.log(uniform)), self.num_pieces)
        return [ops.cast(pieces, "int32")] * count

    def log_weights(self, pieces: Tensor) -> Any:
        """As `PieceSampler.log_weights`."""
        return ops.take(self._all_log_weights, pieces)


class CandidateSampler(LogUniformSampler):
    """As `LogUniformSampler`; the target has its weight too, as in `tf.nn.sampled_softmax_loss`.

    There, the logarithm of the expected count of each drawn piece is subtracted from its logit, and
    that of the target from the target's. So the loss is no estimate of the full loss: it is that of
    telling the target from the other candidates.
    """

    weighs_target = True


# --sampling -> the sampler.
SAMPLERS = {
    "frequent": PieceSampler,
    "log_uniform": LogUniformSampler,
    "candidates": CandidateSampler,
}


def _check_count(num_pieces, vocab_size):
    if not 3 <= num_pieces < vocab_size:
        raise InputError(
            f"num_sampled_pieces must be 3 to {vocab_size - 1}, or 0 for all, not {num_pieces}"
        )


def _inclusion(probabilities, count):
    """The probability that each piece is among `count` drawn ones, by bisection of t: [V]."""

    def included(log_t):
        return -np.expm1(np.exp(log_t) * np.log1p(-probabilities))

    low, high = 0.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if included(middle).sum() < count else (low, middle)
    return included(high)


def sampled_cross_entropy(
    features: Tensor,
    table: Tensor,
    bias: Tensor,
    targets: Tensor,
    weights: Tensor,
    sampler: PieceSampler | LogUniformSampler,
    penalty: float = 0.0,
) -> Any:
    """Estimates `tied_cross_entropy` and its gradients from n pieces that a sampler draws.

    New pieces are drawn for each part of the rows: with one draw for all, a step would learn from
    fewer pieces. The other arguments and the result are as in `tied_cross_entropy`; with a
    `CandidateSampler`, the result is the loss of `tf.nn.sampled_softmax_loss` instead.
    """
    slices = parts(features)
    draws = sampler.draw(len(slices))
    frequent, num_frequent = sampler.frequent, len(sampler.frequent)

    def loss(features, table, bias):
        def rows_of(pieces):
            return ops.cast(ops.take(table, pieces, axis=0), features.dtype)

        frequent_rows = rows_of(frequent)
        target_rows = ops.take(table, targets, axis=0)  # [M, D]
        target_logits = ops.sum(ops.cast(features, "float32") * target_rows, axis=-1)
        target_logits += ops.take(bias, targets)
        if sampler.weighs_target:
            target_logits += sampler.log_weights(targets)
        total, of_features, at_targets = 0.0, [], []
        of_frequent, of_drawn = [0.0, 0.0], []  # gradients of rows and biases
        for part, pieces in zip(slices, draws, strict=True):
            x, target_logit, weight = features[part], target_logits[part], weights[part]
            rows = ops.concatenate([frequent_rows, rows_of(pieces[num_frequent:])])  # [n, D]
            offset = ops.take(bias, pieces) + sampler.log_weights(pieces)
            logits = ops.matmul(x, ops.transpose(rows))  # [m, n]
            highest = ops.maximum(upper_bound(logits, offset), target_logit)
            exponentials, normalizer = exponentials_and_sums(logits, offset, highest)

            # A target that was also drawn must count only once.
            is_drawn, position = _positions(pieces, targets[part], sampler.vocab_size)
            twin = ops.take_along_axis(logits, position[:, None], axis=-1)[:, 0]
            twin = ops.cast(twin, "float32") + ops.take(offset, position)
            correction = ops.exp(target_logit - highest) - is_drawn * ops.exp(twin - highest)
            normalizer += correction

            value, slope = penalized(highest + ops.log(normalizer), target_logit, weight, penalty)
            total += value
            # d loss / d logits at the drawn pieces, and at the target.
            of_x, *of_pieces = products_of_softmax(exponentials, slope / normalizer, x, rows)
            of_features.append(of_x)
            pairs = zip(of_frequent, of_pieces, strict=True)
            of_frequent = [so_far + new[:num_frequent] for so_far, new in pairs]
            of_drawn.append([new[num_frequent:] for new in of_pieces])
            at_targets.append(slope * correction / normalizer - weight)
        at_target = ops.concatenate(at_targets)
        of_features = ops.concatenate(of_features) + at_target[:, None] * target_rows
        of_targets = at_target[:, None] * ops.cast(features, "float32"), at_target
        owners = ops.concatenate([frequent, *(p[num_frequent:] for p in draws), targets])
        of_table, of_bias = (
            ops.segment_sum(ops.concatenate(gradients), owners, table.shape[0])
            for gradients in zip(of_frequent, *of_drawn, of_targets, strict=True)
        )
        return total, of_features, of_table, of_bias

    return with_gradients(loss, features, table, bias)


def _positions(pieces, targets, vocab_size):
    """Finds targets among the pieces: [M] float32, 1 if found, else 0; and [M] int32, the index."""
    numbers = ops.arange(1, pieces.shape[0] + 1, dtype="int32")
    numbers = ops.scatter(pieces[:, None], numbers, (vocab_size,))  # 0 means not drawn
    number = ops.take(numbers, targets)
    return ops.cast(number > 0, "float32"), ops.maximum(number - 1, 0)
