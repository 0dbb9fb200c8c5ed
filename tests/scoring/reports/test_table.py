import pytest

from tta.scoring.combining.weights import RerankWeights
from tta.scoring.reports.table import align, format_weights, signatures


def test_columns_are_aligned_and_numbers_are_not_changed():
    cells = [["", "value", "weights"], ["first pass", "1.50", ""], ["lm", "10.00", "1,0e5"]]
    assert align(cells, ["left", "right", "right"]) == (
        "            value  weights\nfirst pass   1.50\nlm          10.00    1,0e5"
    )


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (RerankWeights(0.0), ["0", "0", "sum"]),
        (RerankWeights(1.0, -2.5, "mean"), ["1", "-2.5", "mean"]),
        (RerankWeights(0.00123456789, 123.456789), ["0.00123457", "123.457", "sum"]),
    ],
)
def test_weights_are_printed_with_six_digits(weights, text):
    assert format_weights(weights) == text


def test_several_models_have_a_weight_each():
    weights = RerankWeights(0.5, 1.0, "mean", (0.25, 0.0, 0.75))
    assert format_weights(weights) == ["0.125,0,0.375", "1", "mean"]
    assert signatures(["a|x:1", "b|x:2", "c|x:3"], weights) == [
        "a|x:1|reduction:mean|lm_weight:0.125|length_bonus:1",
        "b|x:2|reduction:mean|lm_weight:0|length_bonus:1",
        "c|x:3|reduction:mean|lm_weight:0.375|length_bonus:1",
    ]
