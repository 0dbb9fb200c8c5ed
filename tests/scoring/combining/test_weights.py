import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tta.errors import InputError
from tta.scoring.combining.weights import FIRST_PASS, FixedWeights, RerankWeights, split_lm_weights
from tta.scoring.fitting.columns import Column


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


COLUMN = Column.describe(
    np.array([[-1.0, -2.5, 0.0]]), np.array([[2, 3, 0]]), np.array([[True, True, False]])
)
WEIGHTS = RerankWeights(
    lm_weight=0.3,
    length_bonus=-0.5,
    reduction="mean",
    shares=(0.25, 0.75),
    scale=1.5,
    features={"am": -2.0},
    bonus_is_guessed=True,
    first_level=RerankWeights(0.2),
    tuned_on={"first pass": COLUMN},
)


@pytest.mark.parametrize(
    "weights", [WEIGHTS, replace(WEIGHTS, scale=math.inf), FIRST_PASS, RerankWeights(1)]
)
def test_weights_are_read_back_from_json(weights):
    read = RerankWeights.from_dict(json.loads(json.dumps(weights.to_dict())))
    assert read == weights
    assert read.tuned_on == weights.tuned_on
    assert read.to_dict() == weights.to_dict()


def test_a_field_that_is_not_there_has_its_default():
    assert RerankWeights.from_dict({"lm_weight": 0.5}) == RerankWeights(0.5)
    assert RerankWeights.from_dict({"lm_weight": 0.5, "scale": None}) == RerankWeights(0.5)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"lm_weigth": 0.5}, "weights have no field 'lm_weigth'; did you mean lm_weight?"),
        ({"lm_weight": None}, "lm_weight must be a number, not None"),
        ({"lm_weight": "0.5"}, "lm_weight must be a number, not '0.5'"),
        ({"lm_weight": True}, "lm_weight must be a number, not True"),
        ({"lm_weight": 2}, "lm_weight must be between 0 and 1, not 2.0"),
        ({"length_bonus": 10**400}, "length_bonus must be a number, not 1000"),
        ({"reduction": 1}, "reduction must be a text, not 1"),
        ({"reduction": "max"}, "reduction must be sum or mean, not 'max'"),
        ({"shares": 1.0}, "shares must be an array, not 1.0"),
        ({"shares": "1"}, "shares must be an array, not '1'"),
        ({"shares": [None]}, "a share must be a number, not None"),
        ({"scale": "inf"}, "scale must be a number, not 'inf'"),
        ({"features": ["am"]}, "features must be an object, not ['am']"),
        ({"features": {"am": []}}, "the weight of am must be a number, not []"),
        ({"bonus_is_guessed": 1}, "bonus_is_guessed must be true or false, not 1"),
        ({"first_level": 0.5}, "first_level: weights must be an object, not 0.5"),
        ({"first_level": {}}, "first_level: weights need a field lm_weight"),
        ({"tuned_on": [1]}, "tuned_on must be an object, not [1]"),
        ({"tuned_on": {"am": [1]}}, "tuned_on: expected value, width and count of each of size"),
        ({"tuned_on": {"am": {}}}, "tuned_on: expected value, width and count of each of size"),
        ({"decision": "max"}, "decision must be mbr with this scale, not 'max'"),
        ({"scale": None}, "decision must be max with this scale, not 'mbr'"),
    ],
)
def test_a_bad_field_is_one_line(changes, rule):
    with pytest.raises(InputError) as caught:
        RerankWeights.from_dict(WEIGHTS.to_dict() | changes)
    assert str(caught.value).startswith(rule)


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({}, "weights need a field lm_weight"),
        ([0.5], "weights must be an object, not [0.5]"),
        (None, "weights must be an object, not None"),
    ],
)
def test_what_are_no_weights_is_one_line(values, rule):
    with pytest.raises(InputError) as caught:
        RerankWeights.from_dict(values)
    assert str(caught.value) == rule


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
