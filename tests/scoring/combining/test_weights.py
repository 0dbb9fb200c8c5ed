import math

import pytest

from tta.errors import InputError
from tta.scoring.combining.weights import RerankWeights, split_lm_weights


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
        ((0.5, 0.0, "sum", ()), "shares must not be negative and must sum to 1"),
    ],
)
def test_weights_are_checked(values, rule):
    with pytest.raises(InputError, match=rule):
        RerankWeights(*values)


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


def test_printed_weights_with_a_sum_rounded_up_can_be_given_again():
    lm_weight, shares = split_lm_weights([0.666667, 0.166667, 0.166667], 3)
    assert lm_weight == 1.0
    RerankWeights(lm_weight)
    assert sum(shares) == pytest.approx(1)


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
