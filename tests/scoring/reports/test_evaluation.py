import numpy as np
import pytest

from benchmarks.paper.reranking import compare_rows
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.reports.evaluation import evaluate
from tta.scoring.reports.table import align, table_cells

ALONE = RerankWeights(1.0)


def rows_of(metric, *texts, reference="a b c d e"):
    """Rows for one list: the first pass picks the first text, the language model the last."""
    hypotheses = tuple(Hypothesis(text, -float(i)) for i, text in enumerate(texts))
    lists = [NBestList("u1", hypotheses, reference)]
    scores = {text: (-100.0 / (i + 1), 1) for i, text in enumerate(texts)}
    arrays = ScoredLists.build(lists, scores)
    systems = {"LM alone": ALONE, "reranked": ALONE}
    return evaluate(arrays, ListStatistics.build(lists, metric), systems).rows


@pytest.mark.parametrize("metric", [WordErrorRate(), Bleu("13a")], ids=lambda metric: metric.name)
def test_a_positive_gain_is_better_in_every_metric(metric):
    first, lm, reranked, oracle = rows_of(metric, "a b c d x", "a b c d e", "x b c d x")
    assert [row.name for row in (first, lm, reranked, oracle)] == [
        "first pass",
        "LM alone",
        "reranked",
        "oracle",
    ]
    assert first.gain == 0
    assert lm.gain == reranked.gain < 0 < oracle.gain


def test_gain_is_relative_to_the_first_pass():
    first, lm, *_ = rows_of(WordErrorRate(), "a b x x", "a b c d x")  # 3 and 1 errors of 5 words
    assert (first.value, lm.value) == (60.0, 20.0)
    assert lm.gain == pytest.approx(100 * 2 / 3)
    assert first.details == {"sub": 40.0, "ins": 0.0, "del": 20.0, "CER": 100 * 4 / 9}


def test_rows_of_two_reports_differ_as_those_of_one():
    """Of twelve lists, one model is correct in every sixth, the other in the rest."""
    metric = WordErrorRate()
    hypotheses = (Hypothesis("a b", -1.0), Hypothesis("a c", -2.0))
    lists = [NBestList(f"u{i}", hypotheses, "a c" if i % 6 else "a b") for i in range(12)]
    one, other = ({"a b": (ab, 1), "a c": (ac, 1)} for ab, ac in ((-1.0, -2.0), (-2.0, -1.0)))
    statistics = ListStatistics.build(lists, metric)
    systems = {
        "one": RerankWeights(1.0, shares=(1.0, 0.0)),
        "other": RerankWeights(1.0, shares=(0.0, 1.0)),
    }
    arrays = ScoredLists.build(lists, one, other)
    together = evaluate(arrays, statistics, systems, compared=("one", "other"))
    alone = (ScoredLists.build(lists, scores) for scores in (one, other))
    apart = [evaluate(arrays, statistics, {"it": ALONE}).rows[1] for arrays in alone]
    found, expected = compare_rows(*apart, metric), together.differences[0]
    assert found.value == expected.value == pytest.approx(100 * (5 - 1) / 12)
    assert found.interval == expected.interval
    assert found.interval[0] < found.value < found.interval[1]


def test_without_errors_there_is_no_gain_to_print():
    rows = rows_of(WordErrorRate(), "a b c d e", "x")
    assert np.isnan(rows[1].gain)
    table = align(table_cells(rows, WordErrorRate()))
    assert "nan" not in table
    assert len({len(line) for line in table.splitlines()[1:3]}) <= 2


def few(*errors):
    """Lists of one word, of which the first pass gets some wrong; the model is always right."""
    lists = [
        NBestList(f"u{i}", (Hypothesis("b" if wrong else "a", -1.0), Hypothesis("a", -2.0)), "a")
        for i, wrong in enumerate(errors)
    ]
    arrays = ScoredLists.build(lists, {"a": (-1.0, 1), "b": (-9.0, 1)})
    return evaluate(arrays, ListStatistics.build(lists, WordErrorRate()), {"reranked": ALONE})


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        ([1], ["no intervals: they need at least 10 lists"]),
        ([1] * 9, ["no intervals: they need at least 10 lists"]),
        ([0] * 10, ["no gains in percent: the WER of the first pass is 0"]),
        ([0],
         ["no gains in percent: the WER of the first pass is 0",
          "no intervals: they need at least 10 lists"]),
        ([1] + [0] * 9,
         ["no interval: the WER of the first pass is 0 or not defined on some of the "
          "resamples, because only few lists have errors or words"]),
        ([1] * 10, []),
    ],
)  # fmt: skip
def test_an_empty_interval_says_why(errors, expected):
    evaluation = few(*errors)
    assert evaluation.notes == expected
    assert np.isnan(evaluation.rows[1].interval).all() == bool(expected)


def many(count=41):
    """Lists that the language model mostly picks correctly and the first pass never."""
    lists, scores = [], {}
    for i in range(count):
        right, wrong = f"a b c d {i}", f"a b c x {i}"
        hypotheses = (Hypothesis(wrong, -1.0), Hypothesis(right, -2.0))
        lists.append(NBestList(f"u{i}", hypotheses, right))
        scores |= {wrong: (-5.0, 5), right: (-1.0 if i % 5 else -9.0, 5)}
    arrays = ScoredLists.build(lists, scores)
    return arrays, ListStatistics.build(lists, WordErrorRate())


def test_rows_have_intervals_around_their_gains_and_the_first_pass_has_none():
    arrays, statistics = many()
    evaluation = evaluate(arrays, statistics, {"LM alone": ALONE, "reranked": ALONE})
    first, lm, reranked, oracle = evaluation.rows
    low, high = lm.interval
    assert 50 < low < lm.gain < high < 100
    assert reranked.interval == lm.interval  # the same picks on the same resamples
    assert np.isnan([*first.interval, *oracle.interval]).all()
    assert evaluation.differences == []
    lines = align(table_cells(evaluation.rows, WordErrorRate())).splitlines()
    assert "95% interval" in lines[0]
    assert f"[{low:+.1f}, {high:+.1f}]" in lines[2]
    assert "[" not in lines[1] + lines[4]


def test_variants_are_compared_with_the_last_system_and_have_no_row():
    arrays, statistics = many()
    keep = RerankWeights(0.0)
    evaluation = evaluate(arrays, statistics, {"a": keep, "b": ALONE}, (), {"without x": keep})
    assert [row.name for row in evaluation.rows] == ["first pass", "a", "b", "oracle"]
    (one,) = evaluation.differences
    assert (one.first, one.second) == ("b", "without x")
    assert one.value == evaluation.rows[2].value - evaluation.rows[1].value < 0
    assert one.interval[0] < one.value < one.interval[1] < 0


def test_every_two_of_the_compared_are_compared():
    arrays, statistics = many()
    other = RerankWeights(0.0)
    systems = {"a": ALONE, "b": other, "c": ALONE}
    evaluation = evaluate(arrays, statistics, systems, compared=["a", "b", "c"])
    pairs = [(one.first, one.second) for one in evaluation.differences]
    assert pairs == [("a", "b"), ("a", "c"), ("b", "c")]
    a_b, a_c, b_c = evaluation.differences
    values = {row.name: row.value for row in evaluation.rows}
    assert a_b.value == values["a"] - values["b"] < 0
    assert a_b.interval[0] < a_b.value < a_b.interval[1] < 0
    assert (a_c.value, a_c.interval) == (0.0, (0.0, 0.0))
    assert b_c.interval == (-a_b.interval[1], -a_b.interval[0])
