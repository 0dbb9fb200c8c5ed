import dataclasses
import math

import numpy as np
import pytest

from tests.scoring.combining.random_lists import make
from tta.scoring.combining.columns import BASE, FEATURE, FIRST, MODEL, WORDS, Columns, center
from tta.scoring.combining.decision import decide
from tta.scoring.combining.scored_lists import RANK
from tta.scoring.combining.weights import GivenWeights

FREE = dict.fromkeys(["f0", "f1", RANK])
MADE = make(1, models=(1.0, 0.5, 0.7), features=(0.5, -0.5), empty=True, scales=(1.0, 10.0, 0.1))

# What is given, and the kinds of the columns that are left.
GIVEN = {
    "nothing": (GivenWeights(features=FREE), [FIRST, *[MODEL] * 3, *[FEATURE] * 3, WORDS]),
    "no features": (GivenWeights(), [FIRST, *[MODEL] * 3, WORDS]),
    "length_bonus": (
        GivenWeights(length_bonus=0.3, features=FREE),
        [FIRST, *[MODEL] * 3, *[FEATURE] * 3],
    ),
    "shares": (
        GivenWeights(shares=(0.5, 0.0, 0.5), features=FREE),
        [FIRST, MODEL, *[FEATURE] * 3, WORDS],
    ),
    "lm_weight": (
        GivenWeights(lm_weight=0.3, shares=(0.2, 0.3, 0.5), features=FREE),
        [BASE, *[FEATURE] * 3, WORDS],
    ),
    "lm_weight 0": (
        GivenWeights(lm_weight=0.0, shares=(0.2, 0.3, 0.5), features=FREE),
        [BASE, *[FEATURE] * 3, WORDS],
    ),
    "lm_weight 1": (
        GivenWeights(lm_weight=1.0, shares=(0.2, 0.3, 0.5), features=FREE),
        [BASE, WORDS],
    ),
    "a feature": (
        GivenWeights(features={"f0": -0.7, "f1": None}),
        [FIRST, *[MODEL] * 3, FEATURE, WORDS],
    ),
    "no models": (GivenWeights(shares=(), features=FREE), [FIRST, *[FEATURE] * 3, WORDS]),
    "all": (
        GivenWeights(lm_weight=0.3, length_bonus=0.4, shares=(0.2, 0.3, 0.5), features={"f0": 0.5}),
        [BASE],
    ),
}


@pytest.mark.parametrize(("given", "kinds"), GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_points_and_weights_are_inverse_and_give_the_same_scores(given, kinds, reduction):
    columns = Columns.build(MADE.lists, given, reduction)
    assert list(columns.kinds) == kinds
    random = np.random.default_rng(3)
    for _ in range(5):
        point = random.uniform(0.1, 3.0, len(kinds))
        signs = random.choice([-1.0, 1.0], len(kinds))
        point = np.where(np.isin(kinds, [FEATURE, WORDS]), signs, 1.0) * point
        weights = columns.weights(point, "mbr")
        assert weights.scale == pytest.approx(columns.scale(point))
        np.testing.assert_allclose(columns.point(weights, weights.scale), point)

        # The combined scores, times the scale, are those of the point, but for a constant per list.
        combined = np.where(MADE.lists.present, decide(MADE.lists, weights).combined, 0.0)
        expected = columns.values @ point
        found = center(MADE.lists, weights.scale * combined)
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())

        # Only the scale tells max from mbr.
        infinite = columns.weights(point, "max")
        assert infinite == dataclasses.replace(weights, scale=math.inf)
        np.testing.assert_allclose(columns.point(infinite, weights.scale), point)


@pytest.mark.parametrize(("given", "kinds"), GIVEN.values(), ids=GIVEN)
def test_what_is_given_is_kept_at_any_point(given, kinds):
    columns = Columns.build(MADE.lists, given, "mean")
    weights = columns.weights(np.full(len(kinds), 0.5), "mbr")
    assert weights.reduction == "mean"
    for name in ("lm_weight", "length_bonus", "shares"):
        if getattr(given, name) is not None:
            assert getattr(weights, name) == getattr(given, name)
    assert (weights.features.keys() == given.features.keys()) == (given.lm_weight != 1)
    for name, weight in given.features.items():
        assert weight is None or weights.features[name] == weight


def test_columns_have_a_mean_of_0_and_a_spread_of_about_1_in_each_list():
    columns = Columns.build(MADE.lists, GivenWeights(features=FREE), "sum")
    present = MADE.lists.present
    assert not columns.values[~present].any()
    np.testing.assert_allclose(columns.values.sum(axis=1), 0, atol=1e-9)
    spreads = [
        columns.values[i, row].std(axis=0) if row.any() else np.nan * columns.units
        for i, row in enumerate(present)
    ]
    np.testing.assert_allclose(np.nanmean(spreads, axis=0), 1)


def test_repeated_and_constant_columns_are_left_out():
    made = make(2, features=(0.5, 0.5, 0.5, 0.5))
    f0, first = made.lists.features["f0"], made.lists.first_pass
    features = {
        **made.lists.features,
        "f1": -3.0 * f0 + np.arange(len(f0))[:, None],  # in another unit, with a constant per list
        "f2": np.ones_like(f0),
        "f3": 0.5 * first,
    }
    lists = dataclasses.replace(made.lists, features=features)
    names = dict.fromkeys(["f0", "f1", "f2", "f3"])
    columns = Columns.build(lists, GivenWeights(features=names), "sum")
    assert columns.kinds == (FIRST, MODEL, FEATURE, WORDS)
    assert columns.names == ("", "", "f0", "")
    same_length = dataclasses.replace(lists, num_words=np.full_like(lists.num_words, 5))
    assert Columns.build(same_length, GivenWeights(), "sum").kinds == (FIRST, MODEL)


def test_a_first_pass_without_differences_has_no_column():
    lists = make(3, models=(1.0, 1.0), features=(0.5,), scores=False).lists
    columns = Columns.build(lists, GivenWeights(features={"f0": None}), "sum")
    assert columns.kinds == (MODEL, MODEL, WORDS)
    assert columns.weights(np.array([1.0, 3.0, 0.5]), "max").lm_weight == 1
    lists = make(3, models=(), scores=False).lists
    assert Columns.build(lists, GivenWeights(), "sum").kinds == (WORDS,)


@pytest.mark.parametrize(
    ("point", "expected", "why"),
    [
        ([1.0, 1.0, 1.0, -1.0], True, "features and the bonus may be negative"),
        ([1.0, 0.0, -1.0, 0.0], True, "the model may have no weight"),
        ([0.0, 1.0, 0.0, 1.0], True, "the first pass may have no weight"),
        ([0.0, 1.0, 1.0, 0.0], False, "features are relative to the first pass"),
        ([0.0, 0.0, 0.0, 1.0], False, "words alone"),
        ([-0.1, 1.0, 0.0, 0.0], False, "a negative first pass"),
        ([1.0, -0.1, 0.0, 0.0], False, "a negative model"),
    ],
)
def test_allowed_points(point, expected, why):
    made = make(4, features=(0.5,))
    columns = Columns.build(made.lists, GivenWeights(features={"f0": None}), "sum")
    assert columns.kinds == (FIRST, MODEL, FEATURE, WORDS)
    assert columns.allowed(np.array([point, [1.0, 0, 0, 0]])).tolist() == [expected, True], why
    if expected:
        columns.weights(np.array(point), "mbr")  # raises nothing


def test_models_without_weight_have_equal_shares():
    columns = Columns.build(MADE.lists, GivenWeights(), "sum")
    weights = columns.weights(np.array([2.0, 0, 0, 0, 0]), "mbr")
    assert (weights.lm_weight, weights.length_bonus) == (0, 0)
    assert weights.shares == (1 / 3, 1 / 3, 1 / 3)
