"""The page: what it shows, and that nothing in a file can break out of it."""

import html.parser
import io
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

from tests.accessibility import serious
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import decide
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.metrics.risk import PairwiseLosses
from tta.scoring.reports import page as html_report
from tta.scoring.reports.evaluation import Change, describe_best, evaluate, find_changes
from tta.scoring.reports.page import TIMES, formula, legend, level, style, write_page
from tta.scoring.reports.table import PartReport, Report
from tta.scoring.scorers.scorer import TokenScores
from tta.scoring.words.confidence import WordConfidence

WER = WordErrorRate()
LM = RerankWeights(1.0)
EVIL = "<script>alert('&')</script>\"'"


class Colours:
    name = f"model {EVIL}"

    def __init__(self):
        self.asked = []

    def score_tokens(self, texts):
        self.asked += texts
        scores = [-0.5, -1.5, -3.0, -5.0, -8.0, -12.0]
        return [TokenScores(text.split(), np.resize(scores, len(text.split()))) for text in texts]


def part(*lists, measured=True, weights=LM):
    """Lists from (text picked by the first pass, text picked by the model, reference)."""
    nbest, scores = [], {}
    for i, (before, after, reference) in enumerate(lists):
        hypotheses = (Hypothesis(before, 0.0), Hypothesis(after, -1.0))
        nbest.append(NBestList(f"u{i}", hypotheses, reference))
        scores |= {before: (-9.0, 3), after: (-1.0 - i, 3)}
    arrays = ScoredLists.build(nbest, scores, losses=PairwiseLosses.build(nbest, WER))
    statistics = ListStatistics.build(nbest, WER) if measured else None
    evaluation = None
    if statistics is not None:
        evaluation = evaluate(arrays, statistics, {"LM alone": LM, "reranked": weights})
    return SimpleNamespace(
        path="test.json",
        decision=decide(arrays, weights),
        statistics=statistics,
        evaluation=evaluation,
    )


def render(part, curve=None, colours=None):
    stream = io.StringIO()
    counts = len(part.decision.lists.nbest), 0, 0
    test = PartReport(part.path, *counts, part.evaluation)
    metric = part.statistics and part.statistics.metric
    report = Report(test, None, ["a"], metric, notes=["a note"], signatures=["a|signature"])
    changes = find_changes(part.decision, part.statistics)
    colours = None if colours is False else colours or Colours()
    write_page(stream, report, part.decision, changes, curve=curve, colours=colours)
    return stream.getvalue()


class Reader(html.parser.HTMLParser):
    """Reads a page: its tags, its text, and whether every tag is closed in order."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text, self.open = [], "", []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text += data

    def classes(self, name):
        return [a for _, a in self.tags if name in (a.get("class") or "").split()]


BETTER = ("the kat sat", "the cat sat", "the cat sat")
MUCH_BETTER = ("x x x x", "a b c d", "a b c d")
MUCH_WORSE = ("e f g h i", "y y y y y", "e f g h i")
WORSE = ("a dog", "a dock", "a dog")
NEITHER = ("a dug", "a dig", "a dog")
SAME = ("one", "one", "two")


def test_changes_are_found_judged_and_sorted():
    one = part(BETTER, WORSE, NEITHER, SAME, MUCH_BETTER)
    assert find_changes(one.decision, one.statistics) == [
        Change(4, 0, 1, "better", 4.0),
        Change(0, 0, 1, "better", 1.0),
        Change(1, 0, 1, "worse", 1.0),
        Change(2, 0, 1, "neither", 0.0),
    ]
    first_pass = decide(one.decision.lists, RerankWeights(0.0))
    assert find_changes(first_pass, one.statistics) == []


def test_the_pick_that_improved_most_is_described_and_the_changes_counted():
    one = part(SAME, WORSE, MUCH_BETTER, MUCH_WORSE, weights=RerankWeights(1.0, scale=1.0))
    changes = find_changes(one.decision, one.statistics)
    nbest = one.decision.lists.nbest
    head, headings, first, reranked, reference = describe_best(changes, one.decision)
    name = nbest[2].utterance_id
    assert head == f"the largest change of 3 (1 better, 2 worse, 0 neither): {name!r}, better"
    assert headings.split() == ["probability", "expected", "loss"]
    for line, i in ((first, 0), (reranked, 1)):
        assert line[12:].split(maxsplit=2) == [
            f"{one.decision.posteriors[2, i]:.3f}",
            f"{one.decision.expected_losses[2, i]:.2f}",
            MUCH_BETTER[i],
        ]
    assert reference.split(maxsplit=1) == ["reference", MUCH_BETTER[2]]
    assert describe_best([], one.decision) == []
    worse = [change for change in changes if change.verdict == "worse"]
    assert describe_best(worse, one.decision)[0].endswith(f"{nbest[3].utterance_id!r}, worse")
    unmeasured = part(("a  b", "b", None), measured=False)
    changes = find_changes(unmeasured.decision, None)
    lines = describe_best(changes, unmeasured.decision)
    assert lines[0].startswith("the largest change of 1: ")
    assert [line.split() for line in lines[1:]] == [
        ["combined", "score"],
        ["first", "pass", "-9.00", "a", "b"],
        ["reranked", "-1.00", "b"],
    ]


def test_a_list_without_hypotheses_has_no_change():
    nbest = [NBestList("u1", (), "a"), *part(BETTER).decision.lists.nbest]
    scores = {BETTER[0]: (-9.0, 3), BETTER[1]: (-1.0, 3)}
    decision = decide(ScoredLists.build(nbest, scores), LM)
    assert [change.number for change in find_changes(decision, None)] == [1]


def test_without_references_the_change_of_the_score_counts():
    one = part(("a", "b", None), ("c", "d", None), measured=False)
    changes = find_changes(one.decision, None)
    assert changes == [Change(0, 0, 1, "", 8.0), Change(1, 0, 1, "", 7.0)]


def test_the_page_shows_table_counts_and_both_hypotheses():
    page = Reader(render(part(BETTER, WORSE, NEITHER, SAME)))
    text = " ".join(page.text.split())
    assert page.open == []
    assert "3 of 4: 1 better, 1 worse, 1 neither." in text
    assert "▲ better errors 1 → 0" in text
    assert "▼ worse errors 0 → 1" in text
    assert "LM alone" in text
    assert "95% interval" in text
    assert "a note" in text
    assert "a|signature" in text
    assert "first pass 0.00 (1 of 2)" in text
    assert "first pass -1.00 (2 of 2)" in text
    assert len(page.classes("card")) == 3
    assert [a["title"] for a in page.classes("substituted") if "title" in a][:2] == [
        "expected: cat",
        "expected: dog",
    ]
    for name in ("all", "better", "worse", "neither"):
        assert any(a.get("id") == f"show-{name}" for _, a in page.tags)


def test_without_references_the_change_of_the_expected_loss_counts():
    weights = RerankWeights(1.0, scale=math.log(4) / 8)
    one = part(BETTER, measured=False, weights=weights)
    [change] = find_changes(one.decision, None)
    assert change.size == pytest.approx(0.6)


def test_the_terms_of_the_picks_sum_to_their_scores_by_the_formula():
    one = part(BETTER, WORSE, weights=RerankWeights(0.4, 0.5, features={"rank": 2.0}))
    text = Reader(render(one)).text
    expected = "combined = 0.6 * first pass + 0.4 * model + 0.5 * words + 1.2 * rank;"
    utterances = text[text.index(expected.replace("*", TIMES)) :]
    rows = re.findall(r"(?:first pass|reranked)((?:-?\d+\.\d\d){5})", utterances)
    assert len(rows) == 4
    for row in rows:
        *terms, combined = map(float, re.findall(r"-?\d+\.\d\d", row))
        assert sum(terms) == pytest.approx(combined, abs=0.02)
        assert combined < 0


def test_a_weight_that_lowers_the_score_is_subtracted_in_the_formula():
    weights = RerankWeights(0.0, -0.5, shares=(), features={"distance": -0.25})
    expected = "combined = 1 * first pass - 0.5 * words - 0.25 * distance"
    assert formula(weights, []) == expected.replace("*", TIMES)


def test_a_feature_in_the_formula_has_its_own_name():
    weights = RerankWeights(0.5, features={"lm_score": 2.0, "num_words": 4.0, "x.lm_score": 6.0})
    expected = "0.5 * model + 1 * lm_score + 2 * num_words + 3 * x.lm_score"
    assert formula(weights, ["small"]).endswith(expected.replace("*", TIMES))
    assert formula(RerankWeights(1.0, shares=(0.5, 0.5)), ["a", "lm_score"]).endswith(
        "0.5 * a + 0.5 * lm_score".replace("*", TIMES)
    )


def test_the_page_is_self_contained_and_has_no_script():
    text = render(part(BETTER))
    assert style() in text
    page = Reader(text)
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "link", "img", "iframe", "object"}
    attributes = {name for _, one in page.tags for name in one}
    assert not attributes & {"src", "href"}
    assert not any(name.startswith("on") for name in attributes)


def test_every_token_is_coloured_by_its_log_probability():
    page = Reader(render(part(("a b c d e x", "a b c d e f", "a b c d e f"))))
    tokens = [a for a in page.classes("t") if "title" in a]
    assert [a["class"] for a in tokens] == 2 * [f"t l{i}" for i in range(6)]
    titles = " ".join(a["title"] for a in tokens[:6])
    assert titles == "-0.50 -1.50 -3.00 -5.00 -8.00 -12.00"
    for name in legend():
        assert name in page.text


@pytest.mark.parametrize(
    ("value", "expected"), [(0, 0), (-1, 0), (-1.01, 1), (-2.01, 2), (-9, 4), (-9.01, 5), (-99, 5)]
)
def test_levels(value, expected):
    assert level(value) == expected
    assert len(legend()) == 6


def test_nothing_in_the_files_breaks_out_of_the_page():
    one = part((f"a {EVIL}", f"b {EVIL} c", f"b {EVIL} {EVIL}"), BETTER)
    one.path = f"{EVIL}.json"
    nbest = one.decision.lists.nbest
    nbest[0] = NBestList(EVIL, nbest[0].hypotheses, f"{EVIL} b")
    page = render(one)
    assert "<script" not in page
    read = Reader(page)
    assert read.open == []
    assert read.text.count(EVIL.split()[0]) > 5
    assert not any(name.startswith("on") for _, a in read.tags for name in a)


def test_the_curve_is_drawn_in_the_page_with_the_page_s_ink():
    svg = (
        '<?xml version="1.0"?>\n<!DOCTYPE svg>\n<svg xmlns="http://www.w3.org/2000/svg">'
        '<path style="stroke: #000000; fill: #ffffff"></path></svg>'
    )
    page = render(part(BETTER), curve=svg)
    assert '<svg xmlns="http://www.w3.org/2000/svg">' in page
    assert "stroke: currentColor; fill: none" in page
    assert "<?xml" not in page
    assert "<svg" not in render(part(BETTER))


def test_only_the_largest_changes_are_shown(monkeypatch):
    monkeypatch.setattr(html_report, "MAX_UTTERANCES", 2)
    colours = Colours()
    page = Reader(render(part(NEITHER, BETTER, MUCH_BETTER), colours=colours))
    assert len(page.classes("card")) == 2
    assert "Shown are the 2 with the largest change." in page.text
    assert "3 of 3: 2 better, 0 worse, 1 neither." in " ".join(page.text.split())
    assert sorted(colours.asked) == sorted({*MUCH_BETTER, *BETTER})


def test_errors_are_those_of_the_metric():
    one = part(("The kat.", "The cat.", "the cat"))
    one.statistics = ListStatistics.build(one.decision.lists.nbest, WordErrorRate("basic"))
    text = " ".join(Reader(render(one)).text.split())
    assert "▲ better errors 1 → 0" in text


def test_lists_without_references_or_changes():
    page = Reader(render(part(("a", "b", None), ("", "d", None), measured=False)))
    text = " ".join(page.text.split())
    assert "2 of 2. " in text
    assert "(empty)" in text
    assert "better" not in text
    assert "Errors" not in text
    page = Reader(render(part(SAME)))
    assert "0 of 1: 0 better" in page.text
    assert page.classes("card") == []


@pytest.mark.large
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_a_phone_and_axe_finds_nothing_serious(browser, scheme):
    text = "a b c d e x " + "long" * 12
    lists = part((text, text.replace("x", "f"), text.replace("x", "f")), BETTER, WORSE)
    page = browser.new_page(viewport={"width": 375, "height": 700}, color_scheme=scheme)
    page.set_content(render(lists))
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert serious(page) == {}
    page.locator(".values").first.focus()
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    page.close()


@pytest.mark.parametrize(
    ("rival", "tip"),
    [
        ("cat", "kat: 90% sure; rival: cat, 7%"),
        ("", "kat: 90% sure; rival: (no word), 7%"),
        (None, "kat: 90% sure"),
    ],
)
def test_a_word_says_its_rival(rival, tip):
    (shown,) = html_report.sure_words([WordConfidence("kat", 0.9, rival, 0.07)])
    assert (shown["text"], shown["tip"]) == ("kat", tip)
