"""The softmax over a sample of the vocabulary equals NumPy's, and the full softmax on average."""

import numpy as np
import pytest
import tensorflow as tf

from tta.errors import InputError
from tta.modeling.heads.cross_entropy import tied_cross_entropy
from tta.modeling.heads.sampled_softmax import (
    CandidateSampler,
    LogUniformSampler,
    PieceSampler,
    sampled_cross_entropy,
)

pytestmark = pytest.mark.tensorflow

D, V, NUM_PIECES = 5, 30, 15  # 10 frequent, 5 of the other 20
COUNTS = np.random.default_rng(0).permutation(V)

each_sampler = pytest.mark.parametrize(
    "sampler_class", [PieceSampler, LogUniformSampler, CandidateSampler]
)


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

    The target has weight 1 or, with a `CandidateSampler`, its own.
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


def test_frequent_pieces_are_always_drawn_and_no_piece_is_drawn_twice():
    sampler = PieceSampler(COUNTS, NUM_PIECES)
    draws = np.array([draw for _ in range(25) for draw in sampler.draw(8)])
    assert draws.shape == (200, NUM_PIECES)
    assert all(len(set(draw)) == NUM_PIECES for draw in draws)
    assert set(draws[:, :10].ravel()) == set(np.argsort(-COUNTS)[:10])
    # The other pieces are drawn about equally often: 200 * 5 / 20 times.
    times = np.bincount(draws[:, 10:].ravel(), minlength=V)[COUNTS < V - 10]
    assert times.min() > 20
    assert times.max() < 90


def test_draws_of_a_step_repeat_a_piece_only_after_all_others():
    sampler = PieceSampler(COUNTS, NUM_PIECES)
    drawn = np.array(sampler.draw(6))[:, 10:]  # 6 times 5 of the 20 others
    assert len(set(drawn[:4].ravel())) == 20
    np.testing.assert_array_equal(drawn[4:], drawn[:2])


def test_a_log_uniform_draw_has_distinct_pieces_that_are_more_often_frequent_ones():
    sampler = LogUniformSampler(COUNTS, NUM_PIECES)
    np.testing.assert_allclose(np.exp(sampler._log_probabilities).sum(), 1.0, rtol=1e-6)
    draws = np.array([sampler.draw(1)[0] for _ in range(2000)])
    assert all(len(set(draw)) == NUM_PIECES for draw in draws)
    shares = np.bincount(draws.ravel(), minlength=V) / len(draws)
    # The weights are one over these shares.
    np.testing.assert_allclose(np.exp(-sampler.log_weights(np.arange(V))), shares, atol=0.04)
    ranked = shares[np.argsort(-COUNTS)]
    assert ranked[0] > 0.9
    assert ranked[-1] < 0.45
    for one in sampler.draw(3):  # one draw for all parts
        assert len(set(one.numpy())) == NUM_PIECES


@each_sampler
@pytest.mark.parametrize("penalty", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 8, 21])
def test_it_equals_numpy(rows, penalty, sampler_class):
    arguments, sampler = case(rows), OneDraw(sampler_class(COUNTS, NUM_PIECES))
    found = sampled_cross_entropy(*arguments, sampler, penalty)
    expected = numpy_loss(arguments, sampler, penalty)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@each_sampler
@pytest.mark.parametrize("penalty", [0.0, 0.1])
def test_its_gradients_equal_finite_differences(penalty, sampler_class):
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


def test_candidates_have_the_loss_of_tensorflow():
    features, table, bias, targets, weights = case()
    sampler = OneDraw(CandidateSampler(COUNTS, NUM_PIECES))
    expected_counts = [np.exp(-sampler.log_weights(ids)) for ids in (targets, sampler.pieces)]
    losses = tf.nn.sampled_softmax_loss(
        table,
        bias,
        targets[:, None],
        features,
        NUM_PIECES,
        V,
        sampled_values=(sampler.pieces, expected_counts[0][:, None], expected_counts[1]),
    )
    found = sampled_cross_entropy(features, table, bias, targets, weights, sampler)
    np.testing.assert_allclose(found, np.sum(losses * weights), rtol=1e-5)
    usual = OneDraw(LogUniformSampler(COUNTS, NUM_PIECES))
    usual.pieces = sampler.pieces
    other = sampled_cross_entropy(features, table, bias, targets, weights, usual)
    assert abs(float(found - other)) > 0.01 * abs(float(other))


@each_sampler
def test_with_nearly_all_pieces_it_is_close_to_the_full_softmax(sampler_class):
    arguments = case()
    whole = tied_cross_entropy(*arguments)
    sampled = sampled_cross_entropy(*arguments, sampler_class(COUNTS, V - 1))
    np.testing.assert_allclose(sampled, whole, rtol=0.02)


def test_the_expectation_of_the_sum_is_the_full_sum():
    features, table, bias, targets, _ = case(1)
    logits = (table @ tf.transpose(features))[:, 0] + bias
    sampler, one = PieceSampler(COUNTS, NUM_PIECES), tf.ones(1)
    estimate = tf.function(
        lambda: sampled_cross_entropy(features, table, bias, targets, one, sampler), autograph=False
    )
    sums = [np.exp(float(estimate() + logits[int(targets[0])])) for _ in range(400)]
    error = np.std(sums) / np.sqrt(len(sums))
    assert abs(np.mean(sums) - np.exp(logits).sum()) < 4 * error


@each_sampler
@pytest.mark.parametrize("num_pieces", [2, V])
def test_too_few_or_all_pieces_are_refused(num_pieces, sampler_class):
    with pytest.raises(InputError, match="num_sampled_pieces must be 3 to 29, or 0 for all, not "):
        sampler_class(COUNTS, num_pieces)
