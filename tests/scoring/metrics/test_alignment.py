"""The edits that word errors are counted by: kinds, indices, and the least number of them."""

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
