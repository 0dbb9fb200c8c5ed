"""The guess. Its constants are chosen on dev lists; here are what they promise."""

import dataclasses
import math

import numpy as np
import pytest

from tests.scoring.combining.random_lists import WER, make
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import select
from tta.scoring.combining.guess import guess, spread
from tta.scoring.combining.part import Part
from tta.scoring.combining.weights import FixedWeights, RerankWeights


def free(lists):
    """Nothing is given, and all features may be used."""
    return FixedWeights(features=dict.fromkeys(lists.features))


def test_the_sizes_are_as_documented():
    lists = make(1, models=(1.0, 1.0), features=(0.5,), count=300).lists.with_list_features(WER)
    weights = guess(lists, free(lists))
    assert (weights.decision, weights.reduction) == ("mbr", "sum")
    assert weights.shares == (0.5, 0.5)
    unit = spread(lists, lists.first_pass)
    assert weights.scale * (1 - weights.lm_weight) * unit == pytest.approx(1)
    assert weights.scale * weights.lm_weight * 9 == pytest.approx(1)
    assert weights.length_bonus == pytest.approx(4.5 * weights.lm_weight)
    assert weights.features == {"distance": pytest.approx(1.5 / 4 * unit)}
    assert weights == guess(lists, dataclasses.replace(free(lists), shares=(0.5, 0.5)))


def test_without_distance_the_model_counts_less():
    lists = make(1, count=300).lists
    for one in (lists, lists.with_list_features(WER)):
        weights = guess(one, FixedWeights())
        assert weights.features == {}
        assert weights.scale * weights.lm_weight * 9 == pytest.approx(0.2)


@pytest.mark.parametrize("given", [{"decision": "max"}, {"scale": 2.0}])
def test_distance_is_for_a_consensus_whose_scale_is_guessed(given):
    lists = make(1).lists.with_list_features(WER)
    assert guess(lists, dataclasses.replace(free(lists), **given)).features == {}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"decision": "max"}, math.inf),
        ({"scale": math.inf}, math.inf),
        ({"scale": 3.0}, 3.0),
        ({"scale": 0.0}, 0.0),
    ],
)
def test_the_decision_can_be_given(given, expected):
    assert guess(make(4).lists, FixedWeights(**given)).scale == expected


def test_what_is_given_is_kept():
    lists = make(5, models=(1.0, 1.0), features=(0.5, 0.5)).lists
    given = {
        "lm_weight": 0.25,
        "length_bonus": 0.5,
        "reduction": "mean",
        "shares": (0.25, 0.75),
        "scale": 2.0,
        "features": {"f0": -0.5},
    }
    assert guess(lists, FixedWeights(**given)) == RerankWeights(**given)
    for name, value in given.items():
        assert getattr(guess(lists, FixedWeights(**{name: value})), name) == value


def test_without_a_model_the_first_pass_decides_by_mbr_without_a_bonus():
    lists = make(6, models=()).lists
    weights = guess(lists, FixedWeights(shares=()))
    assert (weights.lm_weight, weights.shares, weights.decision) == (0, (), "mbr")
    assert weights.length_bonus == 0
    assert weights.scale * spread(lists, lists.first_pass) == pytest.approx(1.0, rel=0.03)


@pytest.mark.parametrize("scores", [True, False], ids=["scores", "no scores"])
def test_the_number_of_words_has_no_pole(scores):
    """One stray blank among many texts without blanks, or one split word in thirty lists."""
    texts = ["光が見える", "光が見えた", "光見える"]
    hypotheses = tuple(Hypothesis(t, -1.0 * j if scores else None) for j, t in enumerate(texts))
    lists = [NBestList(f"u{i}", hypotheses) for i in range(30)]
    stray = dataclasses.replace(hypotheses[1], text="光 が見えた")
    spoiled = [NBestList("u0", (hypotheses[0], stray)), *lists[1:]]
    for models in ((), ({text: (-20.0, 9) for one in spoiled for text in texts_of(one)},)):
        weights = []
        for nbest in (lists, spoiled):
            part = Part.build(nbest).compared(WER, losses=True)
            for scored in models:
                part = part.scored(scored | dict.fromkeys(texts, (-20.0, 9)))
            found = guess(part.lists, free(part.lists))
            assert found.scale * found.length_bonus == pytest.approx(0.5 if models else 0)
            weights.append(found)
            assert select(part.lists, found)[1:].tolist() == [0] * 29
        assert weights[0].length_bonus == pytest.approx(weights[1].length_bonus, rel=0.1)


def texts_of(one):
    return [h.text for h in one.hypotheses]


def test_without_scores_a_list_gets_the_same_pick_alone_and_in_a_file():
    random = np.random.default_rng(5)
    words = ["by", "buy", "the", "then", "sea", "see", "a", "light", "lights"]
    nbest, scores = [], {}
    for i in range(200):
        texts = [" ".join(random.choice(words, random.integers(1, 9))) for _ in range(5)]
        nbest.append(NBestList(f"u{i}", tuple(Hypothesis(text, None) for text in texts)))
        scores |= {t: (float(-4 * len(t.split()) + random.normal(0, 6)), 1) for t in texts}
    for rank_scores in (True, False):
        together = picks_of(nbest, scores, rank_scores)
        alone = [picks_of([one], scores, rank_scores)[0] for one in nbest]
        np.testing.assert_array_equal(together, alone)
        assert 30 < sum(together) < 770
        assert picks_of([nbest[0]] * 2, scores, rank_scores)[0] == together[0]


def picks_of(nbest, scores, rank_scores):
    part = Part.build(nbest, rank_scores=rank_scores).compared(WER).scored(scores)
    return select(part.lists, guess(part.lists, free(part.lists))).tolist()


@pytest.mark.parametrize("where", ["first pass", "model"])
@pytest.mark.parametrize("value", [-1e9, 1e9, -1e5])
def test_one_extreme_score_does_not_move_the_weights_of_all_lists(where, value):
    lists = make(11, count=41).lists
    expected = guess(lists, FixedWeights())
    longest = int(lists.present.sum(axis=1).argmax())
    if where == "first pass":
        changed = lists.first_pass.copy()
        changed[longest, 1] = value
        spoiled = dataclasses.replace(lists, first_pass=changed)
    else:
        (model,) = lists.models
        total = model.reduced["sum"].copy()
        total[longest, 1] = value
        model = dataclasses.replace(model, reduced={**model.reduced, "sum": total})
        spoiled = dataclasses.replace(lists, models=(model,))
    found = guess(spoiled, FixedWeights())
    assert found.lm_weight == pytest.approx(expected.lm_weight, rel=0.02)
    assert found.scale == pytest.approx(expected.scale, rel=0.02)
    kept = np.arange(41) != longest
    same = select(spoiled, found)[kept] == select(lists, expected)[kept]
    assert same.mean() > 0.95
