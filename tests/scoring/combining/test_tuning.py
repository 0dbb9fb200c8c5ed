import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.scoring.combining.random_lists import WER, make
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import select
from tta.scoring.combining.guess import guess, spread
from tta.scoring.combining.scored_lists import RANK, ListStatistics, ScoredLists
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FIRST_PASS, FixedWeights, RerankWeights, only
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.risk import PairwiseLosses

FREE = FixedWeights()
METRICS = pytest.mark.parametrize("metric", [WER, Bleu("none")], ids=lambda metric: metric.name)


def error(made, weights):
    return made.statistics.value(select(made.lists, weights))


@METRICS
def test_a_useful_model_gets_weight(metric):
    made = make(1, models=(3.0,), count=101, metric=metric)
    weights = tune(made.lists, made.statistics, FREE)
    assert weights.lm_weight > 0.1
    better = error(made, weights) / error(made, FIRST_PASS)
    assert better > 1.1 if metric.higher_is_better else better < 0.9


def objective(lists, statistics, weights, units, held, prior):
    """The expected word errors, list by list, and the cost of moving away from the prior.

    `units`, `held` and `prior` are of the first pass, the model, f0 and the words.
    """
    total = 0.0
    for i, one in enumerate(lists.nbest):
        n = len(one.hypotheses)
        combined = (1 - weights.lm_weight) * (
            lists.first_pass[i, :n] + weights.features.get("f0", 0.0) * lists.features["f0"][i, :n]
        )
        combined = combined + weights.lm_weight * lists.models[0].reduced["sum"][i, :n]
        combined += weights.length_bonus * lists.num_words[i, :n]
        p = np.exp(weights.scale * (combined - combined.max()))
        errors = statistics.counts[i, :n, :3].sum(axis=-1)
        total += float((p / p.sum()) @ errors)
    point = np.array(parameters(weights)) * units
    return total + float(held @ (point - prior) ** 2) / 2


def parameters(weights):
    """Of the first pass, the model, f0 and the words, times the scale."""
    first, scale = 1 - weights.lm_weight, weights.scale
    raw = (first, weights.lm_weight, first * weights.features.get("f0", 0.0), weights.length_bonus)
    return [scale * one for one in raw]


def from_parameters(first, model, f0, words):
    scale = first + model
    return RerankWeights(
        model / scale, words / scale, scale=scale, features={"f0": f0 / first} if f0 else {}
    )


def test_the_weights_are_the_lowest_point_of_the_documented_objective():
    """By a twin with a search of its own that knows no gradient."""
    made = make(21, models=(0.8,), features=(0.4,), count=37)
    given = FixedWeights(decision="max", features={"f0": None})
    found = tune(made.lists, made.statistics, given)
    start = guess(made.lists, dataclasses.replace(given, decision="mbr"))
    unit = spread(made.lists, made.lists.features["f0"])
    units = np.array([1 / parameters(start)[0], 9.0, unit, 1.0])
    prior, held = np.array(parameters(start)) * units, np.array([30.0, 4.0, 4.0, 4.0])

    def loss(point):
        weights = from_parameters(*(point / units))
        return objective(made.lists, made.statistics, weights, units, held, prior)

    best = minimize(loss, prior, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9})
    expected = from_parameters(*(best.x / units))
    assert found.lm_weight == pytest.approx(expected.lm_weight, rel=1e-3)
    assert found.length_bonus == pytest.approx(expected.length_bonus, rel=1e-3)
    assert found.features["f0"] == pytest.approx(expected.features["f0"], rel=1e-3)


def test_few_lists_move_the_weights_little_and_many_do_more():
    moved = []
    for count in (2, 10, 50, 400):
        made = make(22, models=(3.0,), first_pass=0.3, count=count)
        weights, start = tune(made.lists, made.statistics, FREE), guess(made.lists, FREE)
        moved.append(9 * (weights.lm_weight * weights.scale - start.lm_weight * start.scale))
    assert abs(moved[0]) < 0.3
    assert moved == sorted(moved)
    assert moved[-1] > 2


def test_lists_without_evidence_leave_the_guess():
    """All hypotheses are equally wrong, so among equal errors the guess is the nearest."""
    made = make(23, models=(1.0,), features=(0.5,))
    counts = np.where(made.statistics.present[..., None], made.statistics.counts[:, :1], 0)
    statistics = ListStatistics(WER, counts, made.statistics.present)
    given = FixedWeights(features={"f0": None})
    found, expected = tune(made.lists, statistics, given), guess(made.lists, given)
    assert found.lm_weight == pytest.approx(expected.lm_weight)
    assert found.length_bonus == pytest.approx(expected.length_bonus)
    assert found.scale == pytest.approx(expected.scale)
    assert not found.bonus_is_guessed


def commands(*wrong):
    """Lists of commands whose best hypothesis is the longest one."""
    return [
        NBestList(
            f"u{i}",
            (
                Hypothesis(f"turn off the light in room {i}", -20.0),
                *(Hypothesis(text.format(i=i), -24.0 - k) for k, text in enumerate(wrong)),
            ),
            f"turn off the light in room {i}",
        )
        for i in range(30)
    ]


@pytest.mark.parametrize("count", [1, 3, 30])
def test_a_bonus_stays_in_the_order_of_what_a_word_costs(count):
    """Every error on dev is a missing or a further word; nothing limits how much may be paid."""
    for wrong in (("turn off light {i}",), ("turn off the light in the room {i}",)):
        nbest = commands(*wrong)[:count]
        scores = {h.text: (-3.0 * len(h.text.split()), 5) for one in nbest for h in one.hypotheses}
        lists = ScoredLists.build(nbest, scores, losses=PairwiseLosses.build(nbest, WER))
        lists = lists.with_list_features(WER)
        given = FixedWeights(features=dict.fromkeys(lists.features))
        for one in (given, dataclasses.replace(given, shares=())):
            weights = tune(lists, ListStatistics.build(nbest, WER), one)
            assert abs(weights.scale * weights.length_bonus) < 3
            assert select(lists, weights).tolist() == [0] * count


def test_the_scale_follows_the_errors_of_the_picks(monkeypatch):
    """Expected errors always prefer sharper probabilities; a consensus of all may be better."""
    texts = ["a b c d", "a b x d", "a b c x", "x b c d", "a x c d", "a b y d", "x y z w"]
    hypotheses = tuple(Hypothesis(text, -2.0 - 0.1 * i) for i, text in enumerate(texts[:-1]))
    hypotheses += (Hypothesis(texts[-1], -1.5),)
    nbest = [NBestList(f"u{i}", hypotheses, "a b c d") for i in range(60)]
    losses = PairwiseLosses.build(nbest, WER)
    lists, statistics = ScoredLists.build(nbest, losses=losses), ListStatistics.build(nbest, WER)
    given = FixedWeights(shares=(), length_bonus=0.0)
    sharp = dataclasses.replace(guess(lists, given), scale=1.2 * guess(lists, given).scale)
    assert select(lists, sharp).tolist() == [6] * 60
    monkeypatch.setattr(
        "tta.scoring.combining.tuning._fit", lambda _, columns, __: columns.point(sharp)
    )
    weights = tune(lists, statistics, given)
    assert select(lists, weights).tolist() == [0] * 60
    assert weights == dataclasses.replace(sharp, scale=weights.scale)


def test_the_rank_gets_no_negative_weight():
    """A preference for later ranks would be luck."""
    made = make(24)
    last_is_best = np.where(made.lists.present, np.arange(made.lists.present.shape[1]), 0)
    counts = made.statistics.counts.copy()
    counts[..., 0] = 11 - last_is_best
    statistics = ListStatistics(WER, counts, made.statistics.present)
    weights = tune(made.lists, statistics, FixedWeights(features={RANK: None}))
    assert weights.features.get(RANK, 0.0) == 0


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_lists_can_be_tuned_on(count):
    made = make(4, models=(3.0,), count=count)
    empty = NBestList("u9", made.nbest[0].hypotheses, "")  # without it, nothing is measured
    for nbest in (made.nbest, [*made.nbest, empty]):
        losses = PairwiseLosses.build(nbest, WER)
        scores = {h.text: (-1.0, 1) for one in nbest for h in one.hypotheses}
        lists = ScoredLists.build(nbest, scores, losses=losses)
        tune(lists, ListStatistics.build(nbest, WER), FREE)


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
    weights = tune(made.lists, made.statistics, FixedWeights(**given))
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


@METRICS
def test_without_first_pass_scores_the_language_model_decides(metric):
    made = make(8, models=(3.0,), scores=False, count=101, metric=metric)
    better = error(made, tune(made.lists, made.statistics, FREE)) / error(made, FIRST_PASS)
    assert better > 1.1 if metric.higher_is_better else better < 0.8


def test_a_feature_that_helps_is_found_even_if_its_weight_is_negative():
    made = make(10, models=(0.5,), features=(2.0, -2.0), count=61)
    given = FixedWeights(features={"f0": None, "f1": None})
    weights = tune(made.lists, made.statistics, given)
    assert weights.features["f0"] > 0.3
    assert weights.features["f1"] < -0.3
    without = tune(made.lists, made.statistics, FREE)
    assert error(made, weights) < 0.9 * error(made, without)
    alone = tune(made.lists, made.statistics, FixedWeights(features={"f1": None}))
    assert alone.features["f1"] < 0
    assert error(made, alone) < 0.95 * error(made, without)


def test_two_models_that_know_different_things_are_both_let_in():
    made = make(11, models=(1.2, 1.2), first_pass=0.3, count=301)
    together = tune(made.lists, made.statistics, FREE)
    assert min(together.shares) > 0.2
    assert sum(together.shares) == pytest.approx(1)
    for k in range(2):
        one = tune(made.lists, made.statistics, FixedWeights(shares=only(k, 2)))
        assert error(made, together) < 0.97 * error(made, one)


def test_a_useless_model_is_left_with_little():
    made = make(12, models=(3.0, 0.0), count=201)
    assert tune(made.lists, made.statistics, FREE).shares[0] > 0.8


@METRICS
def test_the_unit_of_the_first_pass_changes_nothing_but_the_weights(metric):
    made = make(13, models=(1.2, 1.2), first_pass=0.5, metric=metric)
    picks = select(made.lists, tune(made.lists, made.statistics, FREE))
    for unit in (0.01, 100):
        other = dataclasses.replace(made.lists, first_pass=unit * made.lists.first_pass)
        np.testing.assert_array_equal(select(other, tune(other, made.statistics, FREE)), picks)


def test_empty_hypotheses_and_lists():
    made = make(16, models=(2.0,), empty=True)
    for decision in (None, "max", "mbr"):
        weights = tune(made.lists, made.statistics, FixedWeights(decision=decision))
        assert error(made, weights) < error(made, FIRST_PASS)


@pytest.mark.parametrize("decision", ["max", "mbr"])
def test_one_extreme_score_does_not_move_the_weights(decision):
    made = make(13, models=(1.0,), count=41)
    given = FixedWeights(decision=decision)
    expected = made.statistics.value(select(made.lists, tune(made.lists, made.statistics, given)))
    first_pass = made.lists.first_pass.copy()
    first_pass[3, 0] = -1e9
    spoiled = dataclasses.replace(made.lists, first_pass=first_pass)
    weights = tune(spoiled, made.statistics, given)
    assert 0 < weights.lm_weight < 0.95
    assert made.statistics.value(select(spoiled, weights)) <= 1.05 * expected
