"""Intervals against what is known: closed forms, simulations, sacrebleu's own bootstrap."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.metrics.significance import paired_bootstrap, relative_gain

WER = WordErrorRate()
WORDS = 10


def picked(*errors):
    """Statistics of systems with these errors in every list, all of them of WORDS words."""
    errors = np.array(errors)
    zeros = np.zeros_like(errors)
    return np.stack([errors, zeros, zeros, zeros + WORDS], axis=-1)


def values(values):
    """The systems' own values."""
    return values


def difference(values):
    """The second system's value minus the first's."""
    return values[1:] - values[:1]


def gain(values):
    return relative_gain(values[1:], values[:1], WER)


def test_interval_of_a_difference_is_paired():
    # Two systems that differ by few errors, both of which vary much more from list to list.
    random_ = np.random.default_rng(1)
    first = random_.integers(0, 7, 997)
    change = random_.choice([-1, 0, 0, 0], 997)
    [(low, high)] = paired_bootstrap(picked(first, first + change), WER, difference)
    mean, half = 10 * change.mean(), 10 * 1.96 * change.std() / np.sqrt(997)
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


def test_agrees_with_sacrebleus_own_bootstrap():
    random_ = random.Random(6)
    words = [f"w{i}" for i in range(16)]
    references = [" ".join(random_.choices(words, k=random_.randint(6, 14))) for _ in range(200)]

    def damaged(rate):
        return [
            " ".join(w if random_.random() > rate else random_.choice(words) for w in r.split())
            for r in references
        ]

    systems = {"first": damaged(0.3), "second": damaged(0.25)}
    metric = Bleu("none")
    statistics = np.stack(
        [
            [metric.statistics([h], r)[0] for h, r in zip(texts, references, strict=True)]
            for texts in systems.values()
        ]
    )
    ours = paired_bootstrap(statistics, metric, values)

    test = PairedTest(
        list(systems.items()),
        {"BLEU": BLEU(tokenize="none", force=True, references=[references])},
        references=None,
        test_type="bs",
        n_samples=2000,
    )
    _, scores = test()
    for (low, high), theirs in zip(ours, scores["BLEU"], strict=True):
        assert (high - low) / 2 == pytest.approx(theirs.ci, rel=0.1)
        assert (high + low) / 2 == pytest.approx(theirs.mean, abs=0.3)


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
