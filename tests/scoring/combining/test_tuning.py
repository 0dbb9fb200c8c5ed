import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.scoring.combining.random_lists import WER, make
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import select
from tta.scoring.combining.guess import guess, spread
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FixedWeights, RerankWeights
from tta.scoring.metrics.risk import PairwiseLosses


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
