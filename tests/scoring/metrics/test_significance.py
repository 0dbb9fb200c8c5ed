"""Intervals against closed forms, and where there is none."""

import numpy as np
import pytest

from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.metrics.significance import paired_bootstrap, relative_gain

WER = WordErrorRate()
WORDS = 10


def picked(*errors, words=WORDS):
    """Statistics of systems with these errors in every list of so many words."""
    errors = np.array(errors)
    zeros = np.zeros_like(errors)
    return np.stack([errors, zeros, zeros, zeros + words], axis=-1)


def values(values):
    """The systems' own values."""
    return values


def difference(values):
    """The second system's value minus the first's."""
    return values[1:] - values[:1]


def gain(values):
    return relative_gain(values[1:], values[:1], WER)


def test_interval_of_a_difference_is_paired():
    # Two systems that differ by few errors, both of which vary much more from list to list. The
    # rate is a ratio of sums: long lists, which differ less, count more.
    random_ = np.random.default_rng(1)
    first, words = random_.integers(0, 7, 997), random_.choice([8, 12], 997)
    change = np.where(words == 8, random_.choice([-1, 0, 0, 0], 997), 0)
    systems = picked(first, first + change, words=words)
    [(low, high)] = paired_bootstrap(systems, WER, difference)
    rate = change.sum() / words.sum()
    spread = (change - rate * words).std() / words.mean()
    mean, half = 100 * rate, 100 * 1.96 * spread / np.sqrt(997)
    assert low == pytest.approx(mean - half, abs=0.03 * half)
    assert high == pytest.approx(mean + half, abs=0.03 * half)


def test_same_seed_same_interval_and_another_seed_nearly():
    errors = np.random.default_rng(5).integers(0, 7, 211)
    one, again, other = (
        paired_bootstrap(picked(errors), WER, values, resamples=300, seed=seed)
        for seed in (0, 0, 7)
    )
    np.testing.assert_array_equal(again, one)
    assert not np.array_equal(other, one)
    np.testing.assert_allclose(other, one, atol=0.8)


@pytest.mark.parametrize(
    ("systems", "quantity", "why"),
    [
        (picked([1], [2]), gain, "a single list"),
        (picked([0, 0, 1], [1, 1, 1]), gain, "resamples without an error of the first pass"),
        (picked([0, 0], [1, 1]), gain, "a first pass without errors"),
        (picked([1, 1], [2, 2]) * [1, 1, 1, 0], gain, "no words at all"),
    ],
)
def test_where_a_number_is_undefined_there_is_no_interval(systems, quantity, why):
    assert np.isnan(paired_bootstrap(systems, WER, quantity)).all(), why


def test_a_number_without_an_interval_takes_none_from_the_others():
    def both(values):
        return np.concatenate([gain(values), difference(values)])

    intervals = paired_bootstrap(picked([0] * 10, [1] * 10), WER, both)
    assert np.isnan(intervals[0]).all()
    np.testing.assert_allclose(intervals[1], [10, 10])


def test_more_is_better_where_the_metric_says_so():
    assert relative_gain(30.0, 20.0, Bleu("13a")) == 50
    assert relative_gain(30.0, 20.0, WER) == -50
    assert np.isnan(relative_gain(30.0, 0.0, WER))
