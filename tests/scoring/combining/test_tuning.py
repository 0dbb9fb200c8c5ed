import dataclasses
import math

import numpy as np
import pytest

from tests.scoring.combining.random_lists import WER, make
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import select
from tta.scoring.combining.risk import PairwiseLosses
from tta.scoring.combining.scored_lists import ModelScores, ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.tuning import _gains, tune
from tta.scoring.combining.weights import FIRST_PASS, GivenWeights, RerankWeights, only
from tta.scoring.metrics.bleu import Bleu

FREE = GivenWeights()
METRICS = pytest.mark.parametrize("metric", [WER, Bleu("none")], ids=lambda metric: metric.name)


def error(made, weights):
    return float(made.statistics.error(made.statistics.of(select(made.lists, weights)).sum(axis=0)))


def is_first_pass(weights):
    same = dataclasses.replace(FIRST_PASS, reduction=weights.reduction, shares=weights.shares)
    return weights == same


@METRICS
def test_a_useful_model_gets_weight(metric):
    made = make(1, models=(3.0,), count=101, metric=metric)
    weights = tune(made.lists, made.statistics, FREE)
    assert weights.lm_weight > 0.1
    better = error(made, weights) / error(made, FIRST_PASS)
    assert better > 1.1 if metric.higher_is_better else better < 0.9


@METRICS
def test_the_first_pass_is_kept_if_nothing_helps_reliably(metric):
    kept = [
        is_first_pass(tune(made.lists, made.statistics, FREE))
        for seed in range(10)
        for made in [make(seed, models=(0.0,), first_pass=4.0, count=23, metric=metric)]
    ]
    # Luck is sometimes larger than its standard error. The dev error alone would keep hardly any.
    assert sum(kept) >= 7


def test_a_first_pass_that_cannot_be_beaten_is_kept():
    made = make(2, models=(3.0,))
    perfect = -made.statistics.counts[:, :, :3].sum(axis=-1).astype(float)
    lists = dataclasses.replace(made.lists, first_pass=perfect)
    expected = dataclasses.replace(FIRST_PASS, shares=(1.0,))
    assert tune(lists, made.statistics, FREE) == expected
    given = GivenWeights(reduction="mean")
    assert tune(lists, made.statistics, given) == dataclasses.replace(expected, reduction="mean")


@METRICS
def test_a_gain_must_be_larger_than_the_jackknife_s_standard_error(metric):
    made = make(3, count=13, metric=metric)
    random = np.random.default_rng(0)
    answers = []
    for _ in range(200):
        before, after = (made.statistics.of(random.integers(0, 2, 13)) for _ in range(2))

        def gain(keep, before=before, after=after):
            one, other = before[keep].sum(axis=0), after[keep].sum(axis=0)
            sign = 1 if metric.higher_is_better else -1
            return sign * float(metric.corpus(other) - metric.corpus(one))

        everything = np.ones(13, bool)
        without = [gain(everything & (np.arange(13) != i)) for i in range(13)]
        mean = sum(without) / 13
        standard_error = math.sqrt(12 / 13 * sum((one - mean) ** 2 for one in without))
        answers.append(_gains(made.statistics, before, after))
        assert answers[-1] == (gain(everything) > standard_error)
    assert 10 < sum(answers) < 100
    assert not _gains(made.statistics, before, before)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_lists_can_be_tuned_on(count):
    made = make(4, models=(3.0,), count=count)
    empty = NBestList("u9", made.nbest[0].hypotheses, "")  # without it, nothing is measured
    for nbest in (made.nbest, [*made.nbest, empty]):
        losses = PairwiseLosses.build(nbest, WER)
        scores = {h.text: (-1.0, 1) for one in nbest for h in one.hypotheses}
        lists = ScoredLists.build(nbest, scores, losses=losses)
        tune(lists, ListStatistics.build(nbest, WER), FREE)


@pytest.mark.parametrize("decision", [None, "max", "mbr"])
def test_the_same_lists_give_the_same_weights(decision):
    made = make(5, features=(0.5,), models=(1.0, 1.0))
    given = GivenWeights(decision=decision, features={"f0": None})
    one, other = (tune(made.lists, made.statistics, given) for _ in range(2))
    assert one == other
    assert not is_first_pass(one)


@METRICS
def test_the_better_decision_and_reduction_are_chosen(metric):
    for seed in (5, 6):
        made = make(seed, models=(2.0,), first_pass=1.5, count=61, metric=metric)
        alternatives = {}
        for decision in ("max", "mbr"):
            for reduction in ("sum", "mean"):
                given = GivenWeights(decision=decision, reduction=reduction)
                weights = tune(made.lists, made.statistics, given)
                assert (weights.decision, weights.reduction) == (decision, reduction)
                alternatives[decision, reduction] = weights
        weights = tune(made.lists, made.statistics, FREE)
        assert weights == alternatives[weights.decision, weights.reduction]
        errors = [error(made, one) for one in alternatives.values()]
        assert error(made, weights) < np.median(errors)


def test_without_losses_the_decision_is_max():
    made = make(6, models=(2.0,))
    lists = dataclasses.replace(made.lists, losses=None)
    assert tune(lists, made.statistics, FREE).decision == "max"


GIVEN = {
    "lm_weight": {"lm_weight": 0.3, "shares": (0.5, 0.5)},
    "lm_weight 0": {"lm_weight": 0.0, "shares": (0.5, 0.5)},
    "lm_weight 1": {"lm_weight": 1.0, "shares": (0.0, 1.0)},
    "shares": {"shares": (0.25, 0.75)},
    "length_bonus": {"length_bonus": -0.25},
    "reduction": {"reduction": "mean"},
    "scale": {"scale": 0.7},
    "scale 0": {"scale": 0.0},
    "scale inf": {"scale": math.inf},
    "max": {"decision": "max"},
    "mbr": {"decision": "mbr"},
    "feature": {"features": {"f0": -0.3, "f1": None}},
    "all": {
        "lm_weight": 0.25,
        "length_bonus": 0.5,
        "reduction": "mean",
        "shares": (0.5, 0.5),
        "scale": 2.0,
        "features": {"f0": 0.5, "f1": -0.125},
    },
}


@pytest.mark.parametrize("first_pass", [0.8, 9.0], ids=["weak", "strong"])
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_what_is_given_is_kept(given, first_pass):
    # With the strong first pass nothing helps, but what is given still counts.
    made = make(7, models=(1.0, 1.0), features=(0.5, 0.5), first_pass=first_pass)
    weights = tune(made.lists, made.statistics, GivenWeights(**given))
    for name, value in given.items():
        if name == "features":
            fixed = {name: weight for name, weight in value.items() if weight is not None}
            assert fixed.items() <= weights.features.items()
        elif name == "scale":
            assert weights.scale == pytest.approx(value)
        else:
            assert getattr(weights, name) == value
    if "features" not in given:
        assert not weights.features


def test_no_score_and_no_model_keep_the_order():
    made = make(8, models=(), scores=False)
    assert tune(made.lists, made.statistics, GivenWeights(shares=())) == FIRST_PASS


def test_without_first_pass_scores_the_language_model_decides():
    made = make(8, models=(3.0,), scores=False)
    assert tune(made.lists, made.statistics, FREE).lm_weight == 1


def test_first_pass_scores_that_are_equal_are_like_missing_ones():
    made = make(9, models=(3.0,))
    equal = dataclasses.replace(
        made.lists, first_pass=np.where(made.lists.present, 1.0, 0.0), has_scores=False
    )
    missing = dataclasses.replace(equal, first_pass=0 * equal.first_pass)
    one, other = (tune(lists, made.statistics, FREE) for lists in (equal, missing))
    assert one == other
    assert one.lm_weight == 1


def test_a_feature_that_helps_is_found_even_if_its_weight_is_negative():
    made = make(10, models=(0.5,), features=(2.0, -2.0), count=61)
    given = GivenWeights(features={"f0": None, "f1": None})
    weights = tune(made.lists, made.statistics, given)
    assert weights.features["f0"] > 0.3
    assert weights.features["f1"] < -0.3
    without = tune(made.lists, made.statistics, FREE)
    assert error(made, weights) < 0.9 * error(made, without)
    alone = tune(made.lists, made.statistics, GivenWeights(features={"f1": None}))
    assert alone.features["f1"] < 0
    assert error(made, alone) < 0.95 * error(made, without)


def test_two_models_that_know_different_things_are_both_let_in():
    made = make(11, models=(1.2, 1.2), first_pass=0.3, count=201)
    together = tune(made.lists, made.statistics, FREE)
    assert min(together.shares) > 0.2
    assert sum(together.shares) == pytest.approx(1)
    for k in range(2):
        one = tune(made.lists, made.statistics, GivenWeights(shares=only(k, 2)))
        assert error(made, together) < 0.97 * error(made, one)


def test_a_useless_model_is_left_with_little():
    made = make(12, models=(3.0, 0.0), count=201)
    assert tune(made.lists, made.statistics, FREE).shares[0] > 0.8


@METRICS
def test_the_scale_of_scores_changes_nothing_but_the_weights(metric):
    made = make(13, models=(1.2, 1.2), first_pass=0.5, metric=metric)
    lists = made.lists
    first, second = lists.models
    tiny = ModelScores({k: 1e-3 * v for k, v in second.reduced.items()}, second.num_tokens)
    weights = tune(lists, made.statistics, FREE)
    assert min(weights.shares) > 0.1
    picks = select(lists, weights)
    for other in (
        dataclasses.replace(lists, first_pass=100 * lists.first_pass),
        dataclasses.replace(lists, models=(first, tiny)),
    ):
        found = tune(other, made.statistics, FREE)
        np.testing.assert_array_equal(select(other, found), picks)
        assert found.decision == weights.decision
    assert found.shares[1] / found.shares[0] == pytest.approx(
        1e3 * weights.shares[1] / weights.shares[0]
    )


def test_a_constant_of_each_list_changes_nothing():
    # Recognizers add a constant to all scores of a list, such as examples/README.md describes.
    made = make(14, models=(2.0,))
    constants = np.random.default_rng(0).uniform(-50_000, 0, [31, 1]).round()
    shifted = dataclasses.replace(made.lists, first_pass=made.lists.first_pass + constants)
    one, other = (tune(lists, made.statistics, FREE) for lists in (made.lists, shifted))
    assert other.lm_weight == pytest.approx(one.lm_weight)
    assert other.length_bonus == pytest.approx(one.length_bonus)
    np.testing.assert_array_equal(select(shifted, other), select(made.lists, one))


def test_padding_changes_nothing():
    made = make(15, features=(0.5,))

    def widen(array):
        return np.pad(array, [(0, 0), (0, 5), *[(0, 0)] * (array.ndim - 2)])

    (model,) = made.lists.models
    reduced = {name: widen(scores) for name, scores in model.reduced.items()}
    wide = dataclasses.replace(
        made.lists,
        present=widen(made.lists.present),
        first_pass=widen(made.lists.first_pass),
        num_words=widen(made.lists.num_words),
        features={name: widen(one) for name, one in made.lists.features.items()},
        models=(ModelScores(reduced, widen(model.num_tokens)),),
    )
    statistics = ListStatistics(WER, widen(made.statistics.counts), wide.present)
    given = GivenWeights(features={"f0": None})
    one, other = tune(made.lists, made.statistics, given), tune(wide, statistics, given)
    assert not is_first_pass(one)
    assert other.lm_weight == pytest.approx(one.lm_weight)
    assert other.features == pytest.approx(one.features)
    np.testing.assert_array_equal(select(wide, other), select(made.lists, one))


def test_empty_hypotheses_and_lists():
    made = make(16, models=(2.0,), empty=True)
    for decision in (None, "max", "mbr"):
        weights = tune(made.lists, made.statistics, GivenWeights(decision=decision))
        assert error(made, weights) < error(made, FIRST_PASS)


def test_on_a_plateau_the_choice_lies_inside_and_not_at_its_edge():
    # The right hypothesis wins if the language model's share w / (1 - w) is between two bounds.
    low, high = 1 / 20, 5.0
    hypotheses = [("right r r", 0.0), ("early r r", np.log(2)), ("late r r", -np.log(2))]
    texts = {
        "right r r": (-9.0, 3),
        "early r r": (float(-9.0 - np.log(2) / low), 3),
        "late r r": (float(-9.0 + np.log(2) / high), 3),
    }
    nbest = [
        NBestList(f"u{i}", tuple(Hypothesis(t, float(s)) for t, s in hypotheses), "right r r")
        for i in range(10)
    ]
    lists, statistics = ScoredLists.build(nbest, texts), ListStatistics.build(nbest, WER)
    weights = tune(lists, statistics, GivenWeights(reduction="sum"))
    share = weights.lm_weight / (1 - weights.lm_weight)
    assert 2 * low < share < high / 2


def test_starts_are_only_used_if_they_have_the_reduction():
    made = make(17, models=(2.0, 1.0))
    starts = [RerankWeights(0.5, 0.1, reduction, (0.3, 0.7)) for reduction in ("sum", "mean")]
    given = GivenWeights(reduction="mean")
    one = tune(made.lists, made.statistics, given, starts)
    assert one == tune(made.lists, made.statistics, given, starts[1:])


def test_where_the_model_is_rejected_the_weights_without_it_are_used(monkeypatch):
    made = make(12, models=(2.0,), features=(2.0,))
    given = GivenWeights(features={"f0": None})
    without = tune(made.lists, made.statistics, dataclasses.replace(given, shares=()))
    assert not without.keeps_first_pass
    answers = iter([False, True])
    monkeypatch.setattr("tta.scoring.combining.tuning._gains", lambda *_: next(answers))
    found = tune(made.lists, made.statistics, given)
    assert found == dataclasses.replace(without, shares=(1.0,))
    assert found.lm_weight == 0
    monkeypatch.setattr("tta.scoring.combining.tuning._gains", lambda *_: False)
    assert tune(made.lists, made.statistics, given).keeps_first_pass


@pytest.mark.parametrize("decision", ["max", "mbr"])
def test_one_extreme_score_does_not_move_the_weights(decision):
    made = make(13, models=(1.0,), count=41)
    given = GivenWeights(decision=decision)
    expected = made.statistics.value(select(made.lists, tune(made.lists, made.statistics, given)))
    first_pass = made.lists.first_pass.copy()
    first_pass[3, 0] = -1e9
    spoiled = dataclasses.replace(made.lists, first_pass=first_pass)
    weights = tune(spoiled, made.statistics, given)
    assert 0 < weights.lm_weight < 0.95
    assert made.statistics.value(select(spoiled, weights)) <= 1.05 * expected
