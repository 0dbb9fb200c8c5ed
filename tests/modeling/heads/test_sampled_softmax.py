"""The softmax over a sample of the vocabulary equals NumPy's, and the full softmax on average."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.heads.sampling import COUNTS, NUM_PIECES, V, case, of_every_sampler
from tta.modeling.heads.sampled_softmax import PieceSampler, sampled_cross_entropy

pytestmark = pytest.mark.tensorflow


@of_every_sampler
def test_what_holds_for_every_sampler(check, given):
    check(*given, PieceSampler)


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
