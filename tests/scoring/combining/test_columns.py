import dataclasses
import math

import numpy as np
import pytest

from tests.scoring.combining.random_lists import WER, make
from tta.scoring.combining.decision import decide
from tta.scoring.combining.guess import guess, spread
from tta.scoring.combining.list_features import LIST_FEATURES
from tta.scoring.combining.scored_lists import RANK
from tta.scoring.combining.tuning import FIRST, MODEL, WORDS, Columns, center
from tta.scoring.combining.weights import FixedWeights

FREE = dict.fromkeys(["f0", "f1", RANK])
MADE = make(1, models=(1.0, 0.5, 0.7), features=(0.5, -0.5), empty=True, scales=(1.0, 10.0, 0.1))

# What is given, and the kinds of the columns that are left.
GIVEN = {
    "nothing": (FixedWeights(features=FREE), [FIRST, *[MODEL] * 3, WORDS, "f0", "f1", RANK]),
    "no features": (FixedWeights(), [FIRST, *[MODEL] * 3, WORDS]),
    "length_bonus": (FixedWeights(length_bonus=0.3, features=FREE),
                     [FIRST, *[MODEL] * 3, "f0", "f1", RANK]),
    "shares": (FixedWeights(shares=(0.5, 0.0, 0.5), features=FREE),
               [FIRST, MODEL, WORDS, "f0", "f1", RANK]),
    "lm_weight": (FixedWeights(lm_weight=0.3, shares=(0.2, 0.3, 0.5), features=FREE),
                  [FIRST, WORDS, "f0", "f1", RANK]),
    "lm_weight 0": (FixedWeights(lm_weight=0.0, shares=(0.2, 0.3, 0.5), features=FREE),
                    [FIRST, WORDS, "f0", "f1", RANK]),
    "lm_weight 1": (FixedWeights(lm_weight=1.0, shares=(0.2, 0.3, 0.5), features=FREE),
                    [FIRST, WORDS]),
    "a feature": (FixedWeights(features={"f0": -0.7, "f1": None}),
                  [FIRST, *[MODEL] * 3, WORDS, "f1"]),
    "no models": (FixedWeights(shares=(), features=FREE), [FIRST, WORDS, "f0", "f1", RANK]),
    "all": (FixedWeights(lm_weight=0.3, length_bonus=0.4, shares=(0.2, 0.3, 0.5),
                         features={"f0": 0.5}), [FIRST]),
}  # fmt: skip


def build(lists, given):
    return Columns.build(lists, guess(lists, given), given)


@pytest.mark.parametrize(("given", "kinds"), GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_points_and_weights_are_inverse_and_give_the_same_scores(given, kinds, reduction):
    columns = build(MADE.lists, dataclasses.replace(given, reduction=reduction))
    assert list(columns.names) == kinds
    random = np.random.default_rng(3)
    for _ in range(5):
        point = random.uniform(0.1, 3.0, len(kinds))
        signs = random.choice([-1.0, 1.0], len(kinds))
        point = np.where(np.isin(kinds, [FIRST, MODEL]), 1.0, signs) * point
        weights = columns.weights(point, "mbr")
        np.testing.assert_allclose(columns.point(weights), point)

        # The combined scores, times the scale, are those of the point, but for a constant per list.
        combined = np.where(MADE.lists.present, decide(MADE.lists, weights).combined, 0.0)
        expected = columns.values @ point
        found = center(MADE.lists.present, weights.scale * combined)
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())

        # Only the scale tells max from mbr.
        infinite = columns.weights(point, "max")
        assert infinite == dataclasses.replace(weights, scale=math.inf)


def test_columns_have_a_mean_of_0_in_each_list_and_documented_units():
    made = make(1, features=(0.5,), count=53)
    lists = made.lists.with_list_features(WER)
    columns = build(lists, FixedWeights(features=dict.fromkeys(lists.features)))
    assert not columns.values[~lists.present].any()
    np.testing.assert_allclose(columns.values.sum(axis=1), 0, atol=1e-9)
    units = dict(zip(columns.names, 1 / columns.basis.max(axis=0), strict=True))
    assert units.pop(FIRST) == pytest.approx(spread(lists, lists.first_pass), rel=0.01)
    assert units.pop("f0") == pytest.approx(spread(lists, lists.features["f0"]))
    assert units.pop(MODEL) == pytest.approx(9)
    assert units.pop(RANK) == pytest.approx(1)
    assert units.pop(WORDS) == pytest.approx(max(1, spread(lists, lists.num_words)))
    for name, feature in LIST_FEATURES.items():
        expected = max(feature.unit, spread(lists, lists.features[name]))
        assert units.pop(name) == pytest.approx(expected)
    assert not units


def test_a_feature_that_hardly_varies_has_the_unit_of_the_lists_where_it_does():
    """So its weight has no pole: one stray value among many lists is no evidence."""
    made = make(2, features=(0.0,), count=40)
    values = np.zeros_like(made.lists.first_pass)
    values[7, 0] = 3.0
    lists = dataclasses.replace(made.lists, features=made.lists.features | {"f0": values})
    columns = build(lists, FixedWeights(features={"f0": None}))
    row = lists.present[7]
    assert 1 / columns.basis[:, columns.names.index("f0")].max() == pytest.approx(
        values[7, row].std()
    )


def test_ranks_are_known_by_a_flag_not_by_their_last_bit():
    lists = make(3).lists
    near = np.nextafter(lists.features[RANK], 9.0)
    ranked = dataclasses.replace(lists, first_pass=near, ranked=True)
    assert build(ranked, FixedWeights(features={RANK: None})).names == (FIRST, MODEL, WORDS)
    equal = dataclasses.replace(lists, first_pass=lists.features[RANK])  # scores of the file
    assert RANK in build(equal, FixedWeights(features={RANK: None})).names
