"""The edits that word errors are counted by: kinds, indices, and the least number of them."""

import itertools

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from tta.scoring.metrics.error_rate import DELETION, INSERTION, SUBSTITUTION


@pytest.mark.parametrize(
    ("reference", "hypothesis", "expected"),
    [
        ("the cat sat", "the cat sat", []),
        ("the cat sat", "the kat sat", [(SUBSTITUTION, 1, 1)]),
        ("the cat sat", "the sat", [(DELETION, 1, 1)]),
        ("cat sat", "the cat sat", [(INSERTION, 0, 0)]),
        ("a b c", "x a b", [(INSERTION, 0, 0), (DELETION, 2, 3)]),
        ("", "a", [(INSERTION, 0, 0)]),
        ("a", "", [(DELETION, 0, 0)]),
        ("", "", []),
    ],
)
def test_edits_have_the_standard_names_and_both_positions(reference, hypothesis, expected):
    assert list(Levenshtein.editops(reference.split(), hypothesis.split())) == expected


def distance(first, second):
    """The NumPy twin: the edit distance by dynamic programming."""
    row = np.arange(len(second) + 1)
    for i, word in enumerate(first, 1):
        before, row = row, np.full_like(row, i)
        for j, other in enumerate(second, 1):
            row[j] = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (word != other))
    return row[-1]


def test_edits_are_the_fewest_and_turn_the_reference_into_the_hypothesis():
    texts = [list(one) for n in range(5) for one in itertools.product("ab", repeat=n)]
    for reference, hypothesis in itertools.product(texts, texts):
        edits = Levenshtein.editops(reference, hypothesis)
        assert len(edits) == distance(reference, hypothesis)
        gone = {edit.src_pos for edit in edits if edit.tag != INSERTION}
        new = {edit.dest_pos for edit in edits if edit.tag != DELETION}
        kept = [word for i, word in enumerate(reference) if i not in gone]
        assert kept == [word for i, word in enumerate(hypothesis) if i not in new]
