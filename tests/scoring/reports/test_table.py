import numpy as np
import pytest

from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.reports.evaluation import Difference, Evaluation, Row
from tta.scoring.reports.table import (
    PartReport,
    Report,
    align,
    format_count,
    format_difference,
    format_interval,
    format_number,
    format_row,
    format_weights,
    legend,
    signatures,
)


def test_columns_are_aligned_and_numbers_are_not_changed():
    cells = [["", "value", "weights"], ["first pass", "1.50", ""], ["lm", "10.00", "1,0e5"]]
    assert align(cells, ["left", "right", "right"]) == (
        "            value  weights\nfirst pass   1.50\nlm          10.00    1,0e5"
    )


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (RerankWeights(0.0), ["0", "0", "sum", "max"]),
        (RerankWeights(0.0, -0.0), ["0", "0", "sum", "max"]),
        (RerankWeights(1.0, -2.5, "mean", scale=0.0), ["1", "-2.5", "mean", "0"]),
        (
            RerankWeights(0.00123456789, 123.456789, scale=0.000987654321),
            ["0.00123457", "123.457", "sum", "0.000987654"],
        ),
        (RerankWeights(0.0, shares=(), scale=2.0), ["", "0", "sum", "2"]),
    ],
)
def test_weights_are_printed_with_six_digits(weights, text):
    assert format_weights(weights) == text


def test_several_models_have_a_weight_each():
    weights = RerankWeights(0.5, 1.0, "mean", (0.25, 0.0, 0.75))
    assert format_weights(weights) == ["0.125,0,0.375", "1", "mean", "max"]
    assert signatures(["a|x:1", "b|x:2", "c|x:3"], weights, None) == [
        "a|x:1|reduction:mean|lm_weight:0.125",
        "b|x:2|reduction:mean|lm_weight:0",
        "c|x:3|reduction:mean|lm_weight:0.375",
        "decision:max|length_bonus:1",
    ]


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (RerankWeights(0.0, shares=()), "decision:max|length_bonus:0"),
        (
            RerankWeights(0.0, -1.5, shares=(), scale=0.123456789),
            "decision:mbr|length_bonus:-1.5|scale:0.123457|loss:word errors",
        ),
        (
            RerankWeights(0.0, shares=(), features={"am_score": -0.123456789, "rank": 12.0}),
            "decision:max|length_bonus:0|features:am_score=-0.123457,rank=12",
        ),
    ],
)
def test_the_last_signature_is_the_decision(weights, text):
    assert signatures([], weights, WordErrorRate()) == [text]


@pytest.mark.parametrize(
    ("number", "spec", "text"),
    [
        (-0.04, "+.1f", "+0.0"),
        (-0.06, "+.1f", "-0.1"),
        (-0.0, ".2f", "0.00"),
        (-0.004, ".2f", "0.00"),
        (-1.0, ".2f", "-1.00"),
        (-0.0, ".6g", "0"),
    ],
)
def test_a_rounded_zero_has_no_minus(number, spec, text):
    assert format_number(number, spec) == text


def test_no_cell_of_a_table_is_minus_zero():
    row = Row("a", -0.001, {"sub": -0.0}, -0.01, (-0.02, 1.0), None, np.zeros([1, 6]))
    assert format_row(row) == ["a", "0.00", "0.00", "+0.0", "[+0.0, +1.0]", *[""] * 4]
    assert format_interval((-1.0, -0.001), ".2f") == "[-1.00, +0.00]"
    difference = Difference("a", "b", -0.001, (-0.5, 0.5))
    assert format_difference(difference, WordErrorRate()) == "a - b: +0.00 WER [-0.50, +0.50]"


def test_one_is_singular():
    assert format_count(1, "list", "lists") == "1 list"
    assert format_count(0, "list", "lists") == "0 lists"
    assert format_count(1200, "list", "lists") == "1,200 lists"
    part = PartReport("one.json", 1, 1, 1, None)
    report = Report(part, None, ["a"], None, notes=[], signatures=[])
    assert str(report).splitlines()[0] == "one.json: 1 list, 1 hypothesis, 1 distinct"


def test_notes_of_an_evaluation_are_below_its_table():
    row = Row("first pass", 1.0, {}, 0.0, (np.nan, np.nan), None, np.zeros([1, 6]))
    part = PartReport("one.json", 1, 1, 1, Evaluation([row], [], ["no intervals: why"]))
    lines = str(
        Report(part, None, ["a"], WordErrorRate(), notes=["end"], signatures=[])
    ).splitlines()
    assert lines[3:] == [
        "note: no intervals: why",
        "",
        *legend(WordErrorRate()),
        "",
        "note: end",
    ]
    shown = str(
        Report(part, None, [], WordErrorRate(), ["a change"], notes=["end"], signatures=["by"])
    )
    assert shown.splitlines()[-4:] == ["a change", "", "note: end", "by"]
