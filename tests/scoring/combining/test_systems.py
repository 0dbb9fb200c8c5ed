import dataclasses

import pytest

from tests.scoring.combining.random_lists import make
from tta.scoring.combining.guess import guess
from tta.scoring.combining.systems import WITHOUT_MODEL, WeightChoice
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FixedWeights, only

KNOWN = pytest.mark.parametrize("tuned", [True, False])


def systems_of(made, tuned=True, given=None):
    names = [f"m{k}" for k in range(len(made.lists.models))]
    statistics = made.statistics if tuned else None
    return WeightChoice(names, made.lists, statistics, given or FixedWeights()).systems()


@KNOWN
def test_rows_of_one_model(tuned):
    made = make(1, models=(2.0,))
    systems = systems_of(made, tuned)
    assert list(systems.alone) == [WITHOUT_MODEL, "LM alone"]
    assert list(systems.reranked) == ["reranked"]
    assert systems.final is systems.reranked["reranked"]
    assert systems.alone[WITHOUT_MODEL].shares == ()
    assert systems.alone[WITHOUT_MODEL].lm_weight == 0
    assert systems.alone["LM alone"].lm_weights == (1,)
    assert 0 < systems.final.lm_weight < 1


@KNOWN
def test_rows_of_several_models(tuned):
    made = make(2, models=(1.0, 1.0, 1.0))
    systems = systems_of(made, tuned)
    assert list(systems.alone) == [WITHOUT_MODEL, "m0 alone", "m1 alone", "m2 alone"]
    assert list(systems.reranked) == ["m0 reranked", "m1 reranked", "m2 reranked", "together"]
    assert systems.final is systems.reranked["together"]
    for k in range(3):
        assert systems.alone[f"m{k} alone"].lm_weights == only(k, 3)
        assert systems.reranked[f"m{k} reranked"].shares == only(k, 3)
    assert min(systems.final.shares) > 0.05


@KNOWN
def test_without_a_model_the_first_pass_is_the_only_row(tuned):
    made = make(3, models=(), features=(2.0,))
    given = FixedWeights(features={"f0": None})
    systems = systems_of(made, tuned, given)
    choose = guess if not tuned else lambda lists, given: tune(lists, made.statistics, given)
    expected = choose(made.lists, dataclasses.replace(given, shares=())).rounded(given)
    assert systems.alone == {}
    assert systems.reranked == {WITHOUT_MODEL: expected}
    assert systems.final == expected
    assert (systems.final.features != {}) == tuned


def test_each_row_is_tuned_by_itself():
    made = make(4, models=(2.0, 1.0))
    systems = systems_of(made)
    for k in range(2):
        given = FixedWeights(shares=only(k, 2))
        expected = tune(made.lists, made.statistics, given).rounded(given)
        assert systems.reranked[f"m{k} reranked"] == expected
        given = FixedWeights(shares=only(k, 2), lm_weight=1.0)
        expected = tune(made.lists, made.statistics, given).rounded(given)
        assert systems.alone[f"m{k} alone"] == expected
    given = FixedWeights(shares=())
    expected = tune(made.lists, made.statistics, given).rounded(given)
    assert systems.alone[WITHOUT_MODEL] == expected


@KNOWN
@pytest.mark.parametrize("decision", ["max", "mbr"])
def test_a_given_decision_holds_for_every_row(tuned, decision):
    made = make(7, models=(1.0, 1.0))
    systems = systems_of(made, tuned, FixedWeights(decision=decision))
    rows = systems.alone | systems.reranked
    assert {weights.decision for weights in rows.values()} == {decision}


def test_each_feature_is_left_out_once():
    made = make(6, models=(2.0,), features=(1.0, 0.5), count=41)
    given = FixedWeights(features={"f0": None, "f1": None})
    systems = WeightChoice(["m"], made.lists, made.statistics, given).systems()
    assert list(systems.variants) == ["without f0", "without f1"]
    for name, other in (("f0", "f1"), ("f1", "f0")):
        fewer = FixedWeights(shares=(1.0,), features={other: None})
        expected = tune(made.lists, made.statistics, fewer).rounded(fewer)
        assert systems.variants[f"without {name}"] == expected
    assert WeightChoice(["m"], made.lists, None, given).variants() == {}
