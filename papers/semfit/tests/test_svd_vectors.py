"""Vectors by SVD of the shifted PMI: counts and PMI pair by pair, and the best approximation."""

import numpy as np
import pytest

from tta.errors import InputError
from tta.papers.semfit.vectors import token_vectors as module
from tta.papers.semfit.vectors.token_vectors import count_pairs, shifted_pmi, svd_vectors

V = 13


def sentences(count=50, seed=0):
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, V + 1)
    return [rng.choice(V, n, p=shares / shares.sum()).tolist() for n in rng.integers(0, 9, count)]


def plain_counts(given, window):
    counts = np.zeros((V, V), int)
    for ids in given:
        for i in range(len(ids)):
            for j in range(len(ids)):
                if i != j and abs(i - j) <= window:
                    counts[ids[i], ids[j]] += 1
    return counts


@pytest.mark.parametrize("window", [1, 3, 20])
@pytest.mark.parametrize("block", [1, 20, 10**6])
def test_pairs_are_counted_within_sentences_in_both_orders(window, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_TOKENS", block)
    found = count_pairs(sentences(), V, window)
    np.testing.assert_array_equal(found.toarray(), plain_counts(sentences(), window))


@pytest.mark.parametrize("k", [1, 2.5])
def test_the_positive_part_of_pmi_less_log_k(k):
    counts = count_pairs(sentences(), V, 2)
    found, plain = shifted_pmi(counts, k).toarray(), counts.toarray()
    total, expected = plain.sum(), np.zeros((V, V))
    for w in range(V):
        for c in range(V):
            if plain[w, c]:
                pmi = np.log(plain[w, c] * total / (plain[w].sum() * plain[:, c].sum()))
                expected[w, c] = max(0, pmi - np.log(k))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert 0 < (expected > 0).sum() < V * V


def test_vectors_are_the_left_singular_vectors_times_the_roots_of_the_values():
    matrix = shifted_pmi(count_pairs(sentences(), V, 5), 1).toarray()
    left, values, _ = np.linalg.svd(matrix)
    found = svd_vectors(sentences(), V, 4, num_negatives=1)
    assert (found.shape, found.dtype) == ((V, 4), np.float32)
    expected = (left[:, :4] * values[:4]) @ left[:, :4].T
    np.testing.assert_allclose(found @ found.T, expected, atol=1e-5)
    again = svd_vectors(sentences(), V, 4, num_negatives=1)
    np.testing.assert_array_equal(found, again)


@pytest.mark.parametrize(
    ("given", "size", "rule"),
    [
        (sentences(), V, "svd needs size below the vocabulary's 13, not 13"),
        ([], 3, "no two tokens of the training set occur together often enough"),
        ([[1], [2]], 3, "no two tokens"),
    ],
)
def test_what_has_no_vectors_is_one_line(given, size, rule):
    with pytest.raises(InputError, match=rule):
        svd_vectors(given, V, size)
