"""Samplers of ELMo: what they draw, and their losses beside NumPy's and TensorFlow's."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.heads.sampling import COUNTS, NUM_PIECES, OneDraw, V, case, of_every_sampler
from tta.modeling.heads.sampled_softmax import sampled_cross_entropy
from tta.papers.semfit.heads.sampling import CandidateSampler, LogUniformSampler

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize("sampler_class", [LogUniformSampler, CandidateSampler])
@of_every_sampler
def test_what_holds_for_every_sampler(check, given, sampler_class):
    check(*given, sampler_class)


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
