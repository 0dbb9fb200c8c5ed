"""Cross-entropy over a sample of the vocabulary: most of the gradient at a fraction of the cost.

The sum over all V pieces in a softmax is estimated from n pieces, which a `Sampler` draws: by
default the most frequent ones, and a random draw from the others, weighted up to represent those
that were not drawn. The target counts once, with weight 1. The expectation of the estimate is the
full sum (Horvitz and Thompson, 1952; for a softmax, Jean et al., 2015, "On using very large target
vocabulary for neural machine translation"). Scores and evaluation use the full sum.
"""

from typing import Any, NamedTuple

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


class Sampler(keras.layers.Layer):
    """Draws the pieces of a sampled softmax.

    It is a layer, although it is never called: Keras then stores the state of its generator
    together with that of the dropouts. A subclass has one line in `SAMPLERS`.

    Args:
        counts: [V] int, how often each piece occurs in a text.
        num_pieces: n, 3 to V - 1, the pieces in a sum.
        seed: seed of the draws.

    Attributes:
        frequent: [n'] int32, the pieces with which every draw begins.
        weighs_target: whether the target has its weight too, which makes another loss.

    Raises:
        InputError: num_pieces is not between 3 and V - 1.
    """

    frequent = np.zeros(0, np.int32)  # no piece is always there
    weighs_target = False

    def __init__(self, counts: np.ndarray, num_pieces: int, seed: int = 0, name: str = "sampler"):
        super().__init__(name=name)
        self.vocab_size = size = len(counts)
        if not 3 <= num_pieces < size:
            raise InputError(
                f"num_sampled_pieces must be 3 to {size - 1}, or 0 for all, not {num_pieces}"
            )
        self.generator = keras.random.SeedGenerator(seed)
        self.built = True

    def draw(self, count: int) -> list[Any]:
        """Draws distinct pieces, for each of `count` parts: a list of [n] int32."""
        raise NotImplementedError

    def log_weights(self, pieces: Tensor) -> Any:
        """The logarithms of the weights of drawn pieces in a sum: [n] -> [n] float32."""
        raise NotImplementedError


class PieceSampler(Sampler):
    """Two thirds are the most frequent pieces; one third is drawn from the others.

    Arguments and errors are as in `Sampler`.
    """

    def __init__(self, counts: np.ndarray, num_pieces: int, seed: int = 0, name: str = "sampler"):
        super().__init__(counts, num_pieces, seed, name)
        self.num_drawn = num_pieces // 3
        order = np.argsort(-np.asarray(counts), kind="stable").astype(np.int32)
        self.frequent, self.others = np.split(order, [num_pieces - self.num_drawn])
        self._log_weights = np.zeros(num_pieces, np.float32)
        self._log_weights[len(self.frequent) :] = np.log(len(self.others) / self.num_drawn)

    def draw(self, count: int) -> list[Any]:
        """As `Sampler.draw`; the draws repeat a piece only after all others were drawn."""
        shuffled = keras.random.shuffle(self.others, seed=self.generator)
        positions = np.arange(count * self.num_drawn) % len(self.others)
        drawn = ops.split(ops.take(shuffled, positions), count)
        return [ops.concatenate([self.frequent, pieces]) for pieces in drawn]

    def log_weights(self, pieces: Tensor) -> Any:
        return self._log_weights


def sampled_cross_entropy(
    features: Tensor,
    table: Tensor,
    bias: Tensor,
    targets: Tensor,
    weights: Tensor,
    sampler: Sampler,
    penalty: float = 0.0,
) -> Any:
    """Estimates `tied_cross_entropy` and its gradients from n pieces that a sampler draws.

    New pieces are drawn for each part of the rows: with one draw for all, a step would learn from
    fewer pieces. The other arguments and the result are as in `tied_cross_entropy`, unless the
    sampler `weighs_target`.
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
            part_loss = _loss_of_part(
                features[part],
                ops.concatenate([frequent_rows, rows_of(pieces[num_frequent:])]),
                ops.take(bias, pieces) + sampler.log_weights(pieces),
                pieces=pieces,
                targets=targets[part],
                vocab_size=sampler.vocab_size,
                target_logit=target_logits[part],
                weight=weights[part],
                penalty=penalty,
            )
            total += part_loss.value
            of_features.append(part_loss.of_features)
            pairs = zip(of_frequent, part_loss.of_pieces, strict=True)
            of_frequent = [so_far + new[:num_frequent] for so_far, new in pairs]
            of_drawn.append([new[num_frequent:] for new in part_loss.of_pieces])
            at_targets.append(part_loss.at_targets)
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


class _PartLoss(NamedTuple):
    """The loss of m rows with n drawn pieces, and its gradients.

    Attributes:
        value: the loss, [] float32.
        of_features: its gradient by the features, [m, D], without the share of the targets.
        of_pieces: its gradients by the rows [n, D] and the biases [n] of the drawn pieces.
        at_targets: its gradient by the logits of the targets, [m] float32.
    """

    value: Tensor
    of_features: Tensor
    of_pieces: list[Tensor]
    at_targets: Tensor


def _loss_of_part(
    features, rows, offset, *, pieces, targets, vocab_size, target_logit, weight, penalty
) -> _PartLoss:
    """The loss of m rows.

    Args:
        features: [m, D].
        rows: [n, D], those of the table for the drawn pieces.
        offset: [n] float32, the biases of the pieces and the logarithms of their weights.
        pieces: [n] int32, those drawn of `vocab_size`.
        targets: [m] int32.
        target_logit, weight: [m] float32.
        penalty: as in `tied_cross_entropy`.
    """
    logits = ops.matmul(features, ops.transpose(rows))  # [m, n]
    highest = ops.maximum(upper_bound(logits, offset), target_logit)
    exponentials, normalizer = exponentials_and_sums(logits, offset, highest)

    # A target that was also drawn must count only once.
    is_drawn, position = _positions(pieces, targets, vocab_size)
    twin = ops.take_along_axis(logits, position[:, None], axis=-1)[:, 0]
    twin = ops.cast(twin, "float32") + ops.take(offset, position)
    correction = ops.exp(target_logit - highest) - is_drawn * ops.exp(twin - highest)
    normalizer += correction

    value, slope = penalized(highest + ops.log(normalizer), target_logit, weight, penalty)
    # d loss / d logits at the drawn pieces, and at the target.
    of_features, *of_pieces = products_of_softmax(exponentials, slope / normalizer, features, rows)
    at_targets = slope * correction / normalizer - weight
    return _PartLoss(value, of_features, of_pieces, at_targets)


def _positions(pieces, targets, vocab_size):
    """Finds targets among the pieces: [M] float32, 1 if found, else 0; and [M] int32, the index."""
    numbers = ops.arange(1, pieces.shape[0] + 1, dtype="int32")
    numbers = ops.scatter(pieces[:, None], numbers, (vocab_size,))  # 0 means not drawn
    number = ops.take(numbers, targets)
    return ops.cast(number > 0, "float32"), ops.maximum(number - 1, 0)
