import math

import numpy as np
import pytest

from tests.scoring.combining.random_lists import WER, make, nbest
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.errors import InputError
from tta.scoring.combining import scored_lists
from tta.scoring.combining.scored_lists import (
    RANK,
    ScoredLists,
    check_widths,
    common_features,
    score_by_rank,
)


def test_arrays_are_the_lists_padded_with_zeros():
    made = make(0, features=(0.5,), models=(1.0, 1.0), count=7, empty=True)
    lists = made.lists
    longest = max(len(one.hypotheses) for one in made.nbest)
    assert lists.present.shape == (7, longest)
    for i, one in enumerate(made.nbest):
        for j in range(longest):
            found = lists.first_pass[i, j], lists.num_words[i, j], lists.features["f0"][i, j]
            assert lists.present[i, j] == (j < len(one.hypotheses))
            if j < len(one.hypotheses):
                h = one.hypotheses[j]
                assert found == (h.score, len(h.text.split()), h.features["f0"])
                tokens = [len(h.text.split()), 2 * len(h.text.split())]
                assert [model.num_tokens[i, j] for model in lists.models] == tokens
            else:
                assert found == (0, 0, 0)


def test_features_are_those_that_every_hypothesis_has():
    lists = [
        nbest(("a", -1.0, {"am": -5.0, "lm": -2.0}), ("b", -2.0, {"lm": -3.0, "am": -6.0})),
        nbest(name="empty"),
        nbest(("c", -1.0, {"am": -7.0, "other": 1.0}), name="u2"),
    ]
    assert common_features(lists) == {"am", RANK}
    arrays = ScoredLists.build(lists)
    assert arrays.features.keys() == {"am", RANK}
    assert arrays.feature("am").tolist() == [[-5.0, -6.0], [0.0, 0.0], [-7.0, 0.0]]
    with pytest.raises(InputError, match="not every hypothesis has a feature 'lm'; these all have"):
        arrays.feature("lm")


def test_the_rank_is_always_a_feature_and_not_read_from_files():
    lists = [nbest(("a", None, {RANK: 9.0}), ("b", None, {RANK: 9.0}), ("c", None, {RANK: 9.0}))]
    for one in (lists, [score_by_rank(one) for one in lists]):
        arrays = ScoredLists.build(one)
        assert common_features(one) == {RANK}
        np.testing.assert_allclose(arrays.feature(RANK), [[0, -math.log(2), -math.log(3)]])
    np.testing.assert_allclose(arrays.first_pass, arrays.feature(RANK))
    assert common_features([]) == common_features([nbest()]) == {RANK}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([(-1.0, -2.0), (-3.0,)], True),
        ([(-1.0, -1.0), (-3.0,)], False),  # constants of lists say nothing
        ([(None, None), (None,)], False),
    ],
)
def test_first_pass_scores_count_only_if_they_differ_within_a_list(scores, expected):
    lists = [nbest(*(("a", s) for s in row), name=str(i)) for i, row in enumerate(scores)]
    assert ScoredLists.build(lists).has_scores is expected


def test_a_mix_is_the_weighted_sum_of_models():
    lists = make(1, models=(1.0, 1.0, 1.0)).lists
    for reduction in ("sum", "mean"):
        one, two, three = (model.reduced[reduction] for model in lists.models)
        mixed = lists.mix((0.5, 0.2, 0.3), reduction)
        np.testing.assert_allclose(mixed, 0.5 * one + 0.2 * two + 0.3 * three)
    assert not lists.mix((), "sum").any()


@pytest.mark.parametrize(("reduction", "lowest"), [("sum", -20.0), ("mean", -5.0)])
def test_an_empty_hypothesis_gets_the_lowest_score_of_its_list(reduction, lowest):
    lists = [nbest(("a b", -2.0), ("", -3.0), ("a b c d", -4.0))]
    arrays = ScoredLists.build(lists, {"a b": (-4.0, 2), "a b c d": (-20.0, 4), "": (0.0, 0)})
    assert arrays.models[0].reduced[reduction][0, 1] == lowest


@pytest.mark.parametrize("score", [math.nan, -math.inf])
def test_a_score_that_is_not_finite_is_an_error(score):
    lists = [nbest(("a", -1.0)), nbest(("a", -1.0), ("b c", -1.0), name="u2")]
    with pytest.raises(
        InputError, match=r"list 'u2': .* score of 'b c' must be a finite number, not (nan|-inf)"
    ):
        ScoredLists.build(lists, {"a": (-1.0, 1), "b c": (score, 2)})


def test_oracle_has_the_fewest_errors():
    made = make(7, empty=True)
    best = made.statistics.of(made.statistics.oracle())[:, :3].sum()
    expected = sum(
        min(
            WER.statistics([text], one.reference or "")[0, :3].sum()
            for text in [h.text for h in one.hypotheses] or [""]
        )
        for one in made.nbest
    )
    assert best == expected


def test_lists_too_uneven_for_memory_are_refused(monkeypatch):
    monkeypatch.setattr(scored_lists, "MAX_PADDED", 100)

    def lists(*widths):
        return [NBestList(f"u{i}", (Hypothesis("a", None),) * n) for i, n in enumerate(widths)]

    check_widths(lists(1, 10, *[1] * 8))
    check_widths(lists(*[50] * 9))  # large, but without padding
    with pytest.raises(InputError, match="list 'u1' has 12 hypotheses, and 10 lists padded"):
        check_widths(lists(1, 12, *[1] * 8))
