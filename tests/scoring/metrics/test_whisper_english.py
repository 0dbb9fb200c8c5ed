"""`--normalize=whisper`: OpenAI's rules, and words that depend on their neighbours."""

import sys

import pytest

from tta.errors import InputError
from tta.scoring.metrics.metric import load_metric
from tta.scoring.metrics.normalization import METRIC_NORMALIZATIONS, lower, parts_of
from tta.scoring.reports.marked_text import mark
from tta.scoring.scorers.scorer import TokenScores

TABLE = [
    ("Twenty dollars, it's Mr. Smith", "$20 it is mister smith", "numbers, titles, contractions"),
    ("the colour of 1,000 centres", "the color of 1000 centers", "spelling; commas in numbers"),
    ("uh, well (laughs) [noise] I'd", "well i would", "fillers and brackets"),
    ("kinda sorta dunno cause", "kinda sorta dunno cause", "only OpenAI's rules"),
    ("gonna wanna", "going to want to", "informal words"),
    ("naïve café", "naive cafe", "diacritics"),
]


def load():
    pytest.importorskip("whisper_normalizer")
    return METRIC_NORMALIZATIONS.load("whisper")


@pytest.mark.parametrize(("text", "expected", "why"), TABLE)
def test_rules(text, expected, why):
    assert load()(text) == expected, why


def test_references_and_hypotheses_are_read_the_same():
    load()
    metric = load_metric("wer", normalize="whisper")
    said, written = "20 dollars, it's Mr. colour", "twenty dollars it is Mister color"
    for hypothesis, reference in (said, written), (written, said):
        counts = metric.statistics([hypothesis], reference)[0]
        assert counts[:3].tolist() == [0, 0, 0]
    assert metric.losses([said, written]).max() == 0


def test_parts_are_those_of_the_whole_text_and_belong_to_its_words():
    words = ["I", "have", "twenty", "one", "dollars", "-", "it's", "Mr.", "Smith"]
    expected = [["i"], ["have"], ["$21"], [], [], [], ["it", "is"], ["mister"], ["smith"]]
    assert parts_of(words, load()) == expected
    assert parts_of([], load()) == []
    assert parts_of(["A", "b"], lower) == [["a"], ["b"]]


def test_marks_compare_whole_texts():
    words, _ = mark("twenty one cats", "21 dogs", TokenScores([], []), load())
    assert [(word.text, word.error) for word in words] == [
        ("twenty", ""),
        ("one", ""),
        ("cats", "substituted"),
    ]


def test_the_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "whisper_normalizer.english", None)
    monkeypatch.delitem(sys.modules, "tta.scoring.metrics.whisper_english", raising=False)
    with pytest.raises(InputError, match=r"needs whisper-normalizer: pip install .*\[whisper\]"):
        METRIC_NORMALIZATIONS.load("whisper")
