"""What holds for every sampler of a sampled softmax, as functions of its class."""

import numpy as np
import pytest
import tensorflow as tf

from tta.errors import InputError
from tta.modeling.heads.cross_entropy import tied_cross_entropy
from tta.modeling.heads.sampled_softmax import sampled_cross_entropy

D, V, NUM_PIECES = 5, 30, 15  # 10 frequent, 5 of the other 20
COUNTS = np.random.default_rng(0).permutation(V)


class OneDraw:
    """A sampler that draws the same pieces each time."""

    def __init__(self, sampler):
        self.vocab_size, self.log_weights = sampler.vocab_size, sampler.log_weights
        self.frequent, self.weighs_target = sampler.frequent, sampler.weighs_target
        (self.pieces,) = sampler.draw(1)

    def draw(self, count):
        return [self.pieces] * count


def case(rows=21):
    rng = np.random.default_rng(rows)
    return (
        tf.cast(rng.normal(size=(rows, D)), tf.float32),
        tf.cast(rng.normal(size=(V, D)), tf.float32),
        tf.cast(rng.normal(size=V), tf.float32),
        tf.cast(rng.integers(0, V, rows), tf.int32),
        tf.cast(rng.random(rows), tf.float32),
    )


def numpy_loss(arguments, sampler, penalty):
    """Row by row: the weighted sum over the drawn pieces except the target, plus the target.

    The target has weight 1 or, with a sampler that weighs it, its own.
    """
    features, table, bias, targets, weights = (np.asarray(a, np.float64) for a in arguments)
    pieces, total = np.asarray(sampler.pieces), 0.0
    for x, target, weight in zip(features, targets.astype(int), weights, strict=True):
        logits = table @ x + bias
        others = pieces != target
        weighed = np.exp(logits[pieces] + np.asarray(sampler.log_weights(pieces)))
        right = logits[target]
        if sampler.weighs_target:
            right += float(sampler.log_weights(np.array([target]))[0])
        mass = weighed[others].sum() + np.exp(right)
        log_normalizer = np.log(mass)
        total += weight * (log_normalizer - right)
        total += weight * penalty * log_normalizer**2
    return total


def check_it_equals_numpy(rows, penalty, sampler_class):
    """The loss is that of NumPy."""
    arguments, sampler = case(rows), OneDraw(sampler_class(COUNTS, NUM_PIECES))
    found = sampled_cross_entropy(*arguments, sampler, penalty)
    expected = numpy_loss(arguments, sampler, penalty)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def check_gradients(penalty, sampler_class):
    """The gradients are the slopes of the loss."""
    arguments, sampler = case(), OneDraw(sampler_class(COUNTS, NUM_PIECES))
    with tf.GradientTape() as tape:
        tape.watch(arguments[:3])
        loss = 3.0 * sampled_cross_entropy(*arguments, sampler, penalty)
    rng, step = np.random.default_rng(0), 1e-4
    for i, gradient in enumerate(tape.gradient(loss, arguments[:3])):
        for direction in rng.choice([-1.0, 1.0], (5, *arguments[i].shape)):
            moved = [np.asarray(a, np.float64) for a in arguments]
            values = []
            for sign in (1, -1):
                there = list(moved)
                there[i] = moved[i] + sign * step * direction
                values.append(3.0 * numpy_loss(there, sampler, penalty))
            slope = (values[0] - values[1]) / (2 * step)
            np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-3, atol=1e-3)


def check_nearly_all_pieces(sampler_class):
    """With all pieces but one, the loss is close to that of the full softmax."""
    arguments = case()
    whole = tied_cross_entropy(*arguments)
    sampled = sampled_cross_entropy(*arguments, sampler_class(COUNTS, V - 1))
    np.testing.assert_allclose(sampled, whole, rtol=0.02)


def check_count(num_pieces, sampler_class):
    """A number of pieces that is too small, or all, is refused."""
    with pytest.raises(InputError, match="num_sampled_pieces must be 3 to 29, or 0 for all, not "):
        sampler_class(COUNTS, num_pieces)


CASES = [
    *((check_it_equals_numpy, (rows, penalty)) for rows in (1, 8, 21) for penalty in (0.0, 0.1)),
    *((check_gradients, (penalty,)) for penalty in (0.0, 0.1)),
    (check_nearly_all_pieces, ()),
    *((check_count, (num_pieces,)) for num_pieces in (2, V)),
]
of_every_sampler = pytest.mark.parametrize(
    ("check", "given"), CASES, ids=lambda one: getattr(one, "__name__", repr(one))
)
