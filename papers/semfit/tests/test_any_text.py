"""Word vectors take any ordered iterable of texts, as every scorer; the rest is a clear error."""

import pytest

from tests.scoring.scorers.test_any_text import (
    METHODS,
    REFUSED,
    check_anything_else_is_refused,
    check_every_ordered_iterable_is_taken,
)
from tta.papers.semfit.static_vectors import StaticVectors

each_method = pytest.mark.parametrize("method", ["encode", "similarity"])


@pytest.fixture
def scorer(tmp_path):
    (tmp_path / "vectors.txt").write_text("the 1 2\ncat 3 5\ndog 7 11\n")
    return StaticVectors(tmp_path / "vectors.txt")


@each_method
def test_every_ordered_iterable_of_texts_is_taken(scorer, method):
    check_every_ordered_iterable_is_taken(scorer, METHODS[method])


@each_method
@pytest.mark.parametrize(("texts", "rule"), REFUSED, ids=[rule for _, rule in REFUSED])
def test_anything_else_is_a_clear_error(scorer, method, texts, rule):
    check_anything_else_is_refused(scorer, method, texts, rule)
