"""docs/experiments/reranking.md and README have the figures of docs/llm.json."""

import json
import re

import numpy as np
import pytest

from benchmarks import llm
from tests.commands import ROOT
from tests.fake_model import FakeModel

RECORD = json.loads((ROOT / "docs/llm.json").read_text(encoding="utf-8"))


def test_the_page_has_the_table_that_was_measured():
    page = (ROOT / "docs/experiments/reranking.md").read_text(encoding="utf-8")
    for row in llm.table(RECORD):
        assert f"| {' | '.join(row)} |" in page
    assert set(RECORD) == {*llm.NAMES, "seconds"}
    assert RECORD["Arctic 5 dB"]["lists"] == [1185, 300]


def test_readme_has_its_figures():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"\| an LLM.*\|", readme)
    for name in llm.NAMES[:2]:
        tuned = RECORD[name]["tuned"]
        assert f"{tuned[llm.LLM][0]:.2f} (`small` {tuned['small'][0]:.2f})" in row
    seconds = RECORD["seconds"]
    assert f"{seconds[llm.LLM] / seconds['small']:.0f} times" in row


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("i think i'm late", "I think I'm late."),
        ("it is i", "It is I."),
        ("iris in paris", "Iris in paris."),
        ("", "."),
    ],
)
def test_a_cased_text_is_a_sentence(text, expected):
    assert llm.cased(text) == expected
    lm = FakeModel()
    scores = llm.Cased(lm).score_with_counts([text])
    np.testing.assert_array_equal(scores, lm.score_with_counts([expected]))
