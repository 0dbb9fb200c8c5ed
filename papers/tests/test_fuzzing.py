"""Hostile files for the readers of papers/, the short form."""

import pytest

from tests.test_fuzzing import check_an_endless_line_is_refused, check_outcomes
from tta.papers.tests.fuzzing import MODEL_READERS, READERS

ALL = READERS | MODEL_READERS
WITHOUT_LINES = {"fasttext_sizes", "npy_vectors"}


@pytest.mark.parametrize("name", ALL)
def test_a_reader_gives_a_result_or_a_refusal(tmp_path, name):
    if name == "fasttext":
        pytest.importorskip("gensim", reason="pip install '.[vectors]'")
    check_outcomes(tmp_path, name, ALL[name])


@pytest.mark.parametrize("name", sorted(READERS.keys() - WITHOUT_LINES))
def test_an_endless_line_is_refused(tmp_path, monkeypatch, name):
    check_an_endless_line_is_refused(tmp_path, monkeypatch, READERS[name])
