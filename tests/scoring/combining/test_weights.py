import math

import pytest

from tta.errors import InputError
from tta.scoring.combining.weights import FIRST_PASS, FixedWeights, RerankWeights, split_lm_weights


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ((-0.1,), "lm_weight must be between 0 and 1, not -0.1"),
        ((1.5,), "lm_weight must be between 0 and 1, not 1.5"),
        ((math.nan,), "lm_weight must be between 0 and 1, not nan"),
        ((0.5, math.inf), "length_bonus must be a finite number, not inf"),
        ((0.5, 0.0, "max"), "reduction must be sum or mean, not 'max'"),
        ((0.5, 0.0, "sum", (0.5,)), "shares must not be negative and must sum to 1, not .0.5,.$"),
        ((0.5, 0.0, "sum", (2.0, -1.0)), "shares must not be negative and must sum to 1"),
        ((0.5, 0.0, "sum", ()), "without a model, lm_weight must be 0, not 0.5"),
        ((0.5, 0.0, "sum", (1.0,), -0.1), "scale must be at least 0, not -0.1"),
        ((0.5, 0.0, "sum", (1.0,), math.nan), "scale must be at least 0, not nan"),
        (
            (0.5, 0.0, "sum", (1.0,), 1.0, {"am": 1.0, "lm": math.inf}),
            "the weight of lm must be a finite number, not inf",
        ),
    ],
)
def test_weights_are_checked(values, rule):
    with pytest.raises(InputError, match=rule):
        RerankWeights(*values)


def test_rounded_weights_can_be_given_again():
    weights = RerankWeights(
        2 / 3, -1 / 3, "mean", (1 / 7, 2 / 7, 4 / 7), 1e5 / 3, {"am": 1 / 3, "lm": -1e-7 / 3}
    )
    rounded = weights.rounded(FixedWeights())
    printed = [float(f"{weight:g}") for weight in rounded.lm_weights]
    assert rounded.lm_weights == pytest.approx(printed, rel=1e-12)
    assert rounded.lm_weights == pytest.approx(weights.lm_weights, rel=1e-5)
    assert (rounded.length_bonus, rounded.scale) == (-0.333333, 33333.3)
    assert rounded.features == {"am": 0.333333, "lm": -3.33333e-08}
    fixed = {"lm_weight": 2 / 3, "length_bonus": -1 / 3, "scale": 1e5 / 3}
    given = FixedWeights(**fixed, shares=weights.shares, features=weights.features)
    assert weights.rounded(given) == weights
    assert FIRST_PASS.rounded(FixedWeights()) == FIRST_PASS


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "mbr"),
        ({"decision": "max"}, "max"),
        ({"decision": "mbr"}, "mbr"),
        ({"scale": 2.0}, "mbr"),
        ({"scale": math.inf}, "max"),
    ],
)
def test_the_decision(given, expected):
    assert FixedWeights(**given).decides(has_losses=True) == expected
    assert given or FixedWeights().decides(has_losses=False) == "max"


def test_mixtures_to_choose_from():
    assert FixedWeights().mixtures(2) == ((1.0, 0.0), (0.0, 1.0))
    assert FixedWeights(shares=(0.5, 0.5)).mixtures(2) == ((0.5, 0.5),)
    assert FixedWeights(shares=()).mixtures(2) == ()


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (None, (None, None)),
        ([0.25], (0.25, (1.0,))),
        ([0.25, 0.75], (1.0, (0.25, 0.75))),
        ([0.5, 0.0], (0.5, (1.0, 0.0))),
        ([0.0, 0.0], (0.0, (0.5, 0.5))),
    ],
)
def test_weights_are_split_into_sum_and_shares(weights, expected):
    assert split_lm_weights(weights, len(weights or "ab")) == expected


@pytest.mark.parametrize(
    ("weights", "count", "rule"),
    [
        ([0.5], 2, r"one number per model, comma-separated: got 1 \(0.5\) for 2"),
        ([0.5, 0.1], 1, r"got 2 \(0.5,0.1\) for 1"),
        ([0.5, 0.6], 2, "their sum must be between 0 and 1, not 0.5,0.6"),
        ([-0.1, 0.6], 2, "each and their sum must be between 0 and 1, not -0.1,0.6"),
        ([float("nan"), 0.6], 2, "not nan,0.6"),
    ],
)
def test_wrong_weights_are_refused(weights, count, rule):
    with pytest.raises(InputError, match=rule):
        split_lm_weights(weights, count)
