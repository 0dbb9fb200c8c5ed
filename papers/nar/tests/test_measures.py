"""Measures of reconstructions and latent vectors, against direct computations."""

import numpy as np
import pytest

from tta.papers.nar.measures import (
    active_units,
    divergences,
    hits,
    most_frequent,
    mutual_information,
)

BEGIN, END = 1, 2


def row(*pieces):
    return np.array([BEGIN, *pieces, END], np.int32)


def test_pieces_count_at_their_place_and_begin_and_end_do_not():
    rows = [row(5, 6, 7), row(5), row()]
    found = hits(rows, [row(5, 7, 7), np.array([9, 5, 9]), row()])
    assert found.right.tolist() == [2, 1, 0]
    assert found.pieces.tolist() == [3, 1, 0]
    assert found.exact.tolist() == [False, True, True]
    assert found.accuracy() == 75.0
    assert found.exact_match() == pytest.approx(200 / 3)
    assert found.accuracy(np.array([True, False, False])) == pytest.approx(200 / 3)


def test_without_a_length_a_text_ends_at_the_first_end_token():
    rows = [row(5, 6), row(5, 6), row(5, 6)]
    found = [
        np.array([BEGIN, 5, 6, END, 7, END]),
        np.array([BEGIN, 5, END, 6]),
        np.array([BEGIN, 5, 6, 7]),
    ]
    measured = hits(rows, list(map(np.array, found)), END)
    assert measured.right.tolist() == [2, 1, 2]
    assert measured.exact.tolist() == [True, False, False], "the third is too long"


def test_the_most_frequent_piece_at_each_place():
    rows = [row(5, 6, 7), row(5, 8), row(4, 8), row()]
    found = [one.tolist() for one in most_frequent(rows)]
    assert [one[1:-1] for one in found] == [[5, 8, 7], [5, 8], [5, 8], []]
    assert hits(rows, most_frequent(rows)).right.tolist() == [2, 2, 1, 0]


def gaussians(count=40, size=3, spread=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return spread * rng.normal(size=(count, size)), 0.3 * rng.normal(size=(count, size)) - 1


def test_divergences_and_active_units():
    mean, log_variance = gaussians()
    expected = [
        sum(0.5 * (m * m + np.exp(v) - 1 - v) for m, v in zip(*pair, strict=True))
        for pair in zip(mean, log_variance, strict=True)
    ]
    np.testing.assert_allclose(divergences(mean, log_variance), expected)
    mean[:, 1] = 5 + 0.09 * np.sign(np.arange(40) % 2 - 0.5)  # variance 0.0081
    assert active_units(mean) == 2


def plain_information(mean, log_variance, draws=300):
    """I(x; z) with many draws, one pair of texts at a time."""
    rng, count, total = np.random.default_rng(1), len(mean), 0.0
    for m, v in zip(mean, log_variance, strict=True):
        z = m + np.exp(v / 2) * rng.normal(size=(draws, len(m)))
        log_q = np.stack([
            (-0.5 * (np.log(2 * np.pi) + w + (z - o) ** 2 / np.exp(w))).sum(axis=1)
            for o, w in zip(mean, log_variance, strict=True)
        ])  # fmt: skip
        own = (-0.5 * (np.log(2 * np.pi) + v + (z - m) ** 2 / np.exp(v))).sum(axis=1)
        total += (own - np.log(np.exp(log_q).mean(axis=0))).mean() / count
    return total


def test_mutual_information_is_that_of_a_direct_estimate():
    mean, log_variance = gaussians()
    copies = 100  # more draws: each text several times would change the mixture only by its copies
    found = np.mean([mutual_information(mean, log_variance, seed) for seed in range(copies)])
    assert found == pytest.approx(plain_information(mean, log_variance), abs=0.03)
    assert 0 < found < np.log(40)
