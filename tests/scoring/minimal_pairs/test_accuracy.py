"""Accuracy on minimal pairs: ties, Wilson's interval, the mean of groups and its interval."""

import math

import numpy as np
import pytest

from tta.scoring.minimal_pairs.files import accuracy, mean_accuracy

Z = 1.959963984540054  # the 97.5 % quantile of the normal distribution


def wilson(correct, pairs):
    """Wilson 1927, in percent."""
    p, n = correct / pairs, pairs
    centre = p + Z**2 / (2 * n)
    half = Z * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return [100 * (centre + sign * half) / (1 + Z**2 / n) for sign in (-1, 1)]


@pytest.mark.parametrize(
    ("differences", "value", "correct", "ties"),
    [
        ([1.0, 0.0, -2.0, 1e-12], 50.0, 2, 1),
        ([3.0], 100.0, 1, 0),
        ([-0.0, 0.0], 0.0, 0, 2),
        ([1.0] * 7 + [-1.0] * 4, 700 / 11, 7, 0),
    ],
)
def test_a_tie_is_wrong_and_the_interval_is_wilsons(differences, value, correct, ties):
    found = accuracy(differences)
    assert found.value == pytest.approx(value)
    assert (found.pairs, found.ties) == (len(differences), ties)
    expected = wilson(correct, len(differences))
    np.testing.assert_allclose(found.interval, expected, rtol=1e-9, atol=1e-9)


def test_groups_count_the_same_in_their_mean():
    groups = [accuracy([1.0] * 90 + [-1.0] * 10), accuracy([1.0, 0.0]), accuracy([-1.0] * 3)]
    found = mean_accuracy(groups)
    assert found.value == pytest.approx((90 + 50 + 0) / 3)
    assert (found.pairs, found.ties) == (105, 1)
    below = [group.value - group.interval[0] for group in groups]
    above = [group.interval[1] - group.value for group in groups]
    assert found.interval[0] == pytest.approx(found.value - math.hypot(*below) / 3)
    assert found.interval[1] == pytest.approx(found.value + math.hypot(*above) / 3)
    assert mean_accuracy(groups[:1]).interval == pytest.approx(groups[0].interval)
