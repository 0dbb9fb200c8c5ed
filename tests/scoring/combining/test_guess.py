import dataclasses
import math

import numpy as np
import pytest

from tests.scoring.combining.random_lists import WER, make
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.columns import spread
from tta.scoring.combining.decision import decide, select
from tta.scoring.combining.guess import cost_of_a_word, guess
from tta.scoring.combining.risk import PairwiseLosses
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.weights import FIRST_PASS, GivenWeights, RerankWeights


def test_spreads_are_as_documented():
    lists = make(1, models=(1.0, 1.0), features=(0.5,), scales=(1.0, 40.0), count=300).lists
    weights = guess(lists, GivenWeights(features={"f0": None}))
    assert (weights.decision, weights.reduction, weights.features) == ("mbr", "sum", {})
    first = (1 - weights.lm_weight) * spread(lists, lists.first_pass)
    models = weights.lm_weight * spread(lists, lists.mix(weights.shares, "sum"))
    assert weights.scale * first == pytest.approx(1.0, rel=0.01)
    assert models == pytest.approx(0.35 * first, rel=0.01)
    words = weights.length_bonus * spread(lists, lists.num_words)
    assert words == pytest.approx(0.2 * first, rel=0.01)


@pytest.mark.parametrize("scores", [True, False])
def test_every_model_varies_alike(scores):
    lists = make(2, models=(1.0, 1.0, 1.0), scores=scores, scales=(1.0, 0.01, 50.0)).lists
    weights = guess(lists, GivenWeights())
    varies = [
        share * spread(lists, model.reduced[weights.reduction])
        for share, model in zip(weights.shares, lists.models, strict=True)
    ]
    np.testing.assert_allclose(varies, varies[0])
    assert sum(weights.shares) == pytest.approx(1)
    assert weights == guess(lists, GivenWeights(shares=weights.shares))


def test_a_model_alone_decides_by_max_and_the_mean():
    for lists, given in (
        (make(3, scores=False).lists, GivenWeights()),
        (make(3).lists, GivenWeights(lm_weight=1.0)),
    ):
        weights = guess(lists, given)
        assert (weights.lm_weight, weights.scale, weights.reduction) == (1, math.inf, "mean")
        cost = cost_of_a_word(lists, lists.models[0].reduced["mean"])
        assert weights.length_bonus == pytest.approx(0.5 * cost)
        total = guess(lists, dataclasses.replace(given, reduction="sum"))
        cost = cost_of_a_word(lists, lists.models[0].reduced["sum"])
        assert total.length_bonus == pytest.approx(2 * cost)
        assert guess(lists, dataclasses.replace(given, decision="mbr")).decision == "mbr"


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
    assert guess(make(4).lists, GivenWeights(**given)).scale == expected


def test_without_losses_the_decision_is_max():
    lists = dataclasses.replace(make(4).lists, losses=None)
    assert guess(lists, GivenWeights()).decision == "max"


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
    assert guess(lists, GivenWeights(**given)) == RerankWeights(**given)
    for name, value in given.items():
        assert getattr(guess(lists, GivenWeights(**{name: value})), name) == value


def test_without_a_model_the_first_pass_decides_by_mbr():
    lists = make(6, models=()).lists
    weights = guess(lists, GivenWeights(shares=()))
    assert (weights.lm_weight, weights.shares, weights.decision) == (0, (), "mbr")
    assert weights.scale * spread(lists, lists.first_pass) == pytest.approx(1.0, rel=0.03)


@pytest.mark.parametrize("reduction", [None, "sum", "mean"])
def test_the_scale_of_the_first_pass_of_many_lists_changes_few_picks(reduction):
    lists = make(7, count=300).lists
    picks = select(lists, guess(lists, GivenWeights(reduction=reduction)))
    for scale in (2.0**-20, 2.0**20):
        other = dataclasses.replace(lists, first_pass=lists.first_pass * scale)
        weights = guess(other, GivenWeights(reduction=reduction))
        assert 0 < weights.lm_weight < 1
        assert (select(other, weights) == picks).mean() > 0.97
    assert not np.array_equal(picks, select(lists, FIRST_PASS))


def test_a_constant_of_each_list_changes_nothing():
    lists = make(8).lists
    constants = np.random.default_rng(0).uniform(-50_000, 0, [31, 1]).round()
    shifted = dataclasses.replace(lists, first_pass=lists.first_pass + constants)
    one, other = guess(lists, GivenWeights()), guess(shifted, GivenWeights())
    assert other.lm_weight == pytest.approx(one.lm_weight)
    assert other.length_bonus == pytest.approx(one.length_bonus)
    assert other.scale == pytest.approx(one.scale)
    np.testing.assert_array_equal(select(shifted, other), select(lists, one))


def test_first_pass_scores_that_are_equal_are_like_missing_ones():
    missing = make(9, scores=False).lists
    equal = dataclasses.replace(missing, first_pass=np.where(missing.present, 1.0, 0.0))
    assert guess(equal, GivenWeights()) == guess(missing, GivenWeights())


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("scores", [(-1.0, -1.0), (-1.0, -2.0), (None, None), (-1.0,), ()])
def test_lists_that_say_nothing(scores, count):
    # There is no spread to go by, and nothing to divide by.
    one = NBestList("u1", tuple(Hypothesis("", score) for score in scores))
    other = NBestList("u2", (Hypothesis("", scores[0] if scores else None),))
    lists = ScoredLists.build([one, other], *[{"": (0.0, 0)}] * count)
    weights = guess(lists, GivenWeights())
    assert weights.shares == tuple(1 / count for _ in range(count))
    assert np.isfinite(decide(lists, weights).combined[lists.present]).all()
    assert select(lists, weights).tolist() == [0, 0]


def test_a_bonus_of_the_cost_of_a_word_centres_the_language_model():
    lists = make(10).lists
    bonus = cost_of_a_word(lists, lists.models[0].reduced["sum"])
    paid = decide(lists, RerankWeights(1.0, bonus)).combined
    assert paid[lists.present].sum() == pytest.approx(0, abs=1e-9)


def test_lists_with_one_hypothesis_do_not_change_the_scale():
    nbest = make(5).nbest
    single = [
        dataclasses.replace(one, utterance_id=f"s{i}", hypotheses=one.hypotheses[:1])
        for i, one in enumerate(nbest)
    ]
    scores = {h.text: (-1.0, 1) for one in nbest for h in one.hypotheses}
    scales = []
    for lists in (nbest, [*nbest, *single]):
        losses = PairwiseLosses.build(lists, WER)
        arrays = ScoredLists.build(lists, scores, losses=losses)
        scales.append(guess(arrays, GivenWeights(shares=(1.0,))).scale)
    assert scales[0] == pytest.approx(scales[1])


# The scores of the built-in model, learned and exact, and first passes that are not sure.
ICE = {"i scream for ice cream": -23.6, "eye scream four ice cream": -41.9}
HELP = {"i scream": -15.8, "eye scream": -30.0}
MAT = {"the cat sat on the mat": -16.1, "the cat sad on the mat": -29.0}
CONVERSIONS = {
    "natural log": lambda score, text: score,
    "log10": lambda score, text: score / math.log(10),
    "per token": lambda score, text: score / len(text.split()),
    "confidence": lambda score, text: math.exp(score / len(text.split())),
}


def scored(*lists):
    """Lists {text: (first-pass score, the model's)}, in this order."""
    nbest = [
        NBestList(f"u{i}", tuple(Hypothesis(text, first) for text, (first, _) in one.items()))
        for i, one in enumerate(lists)
    ]
    model = {text: (score, 9) for one in lists for text, (_, score) in one.items()}
    return ScoredLists.build(nbest, model, losses=PairwiseLosses.build(nbest, WER))


@pytest.mark.parametrize("unit", CONVERSIONS)
def test_a_first_pass_that_is_not_sure_is_overruled(unit):
    """The examples of README and `help(tta)`: 0.1 to 1.3 nats against 13 to 18."""
    convert = CONVERSIONS[unit]

    def one(model, first):
        wrong, right = sorted(model, key=model.get)
        scores = dict(zip((wrong, right), first, strict=True))
        return {text: (convert(scores[text], text), model[text]) for text in scores}

    readme, other = one(ICE, (-11.1, -12.4)), one(MAT, (-7.0, -7.9))
    for lists in ([one(HELP, (-1.2, -1.3))], [readme], [other], [readme, other]):
        arrays = scored(*lists)
        assert select(arrays, FIRST_PASS).tolist() == [0] * len(lists)
        assert select(arrays, guess(arrays, GivenWeights())).tolist() == [1] * len(lists)


def test_a_first_pass_that_is_sure_is_kept():
    arrays = scored({"a b": (-1.0, -20.0), "a c": (-20.0, -12.0)})
    assert select(arrays, guess(arrays, GivenWeights())).tolist() == [0]


def test_five_hypotheses_show_the_unit_of_their_scores():
    """As ATIS: means of log-probabilities that vary by 0.06."""
    texts = ("a b c", "a b d", "a e c", "a b", "f b c")
    firsts, models = (-0.30, -0.36, -0.41, -0.44, -0.47), (-30.0, -24.0, -35.0, -22.0, -41.0)
    lists = scored(dict(zip(texts, zip(firsts, models, strict=True), strict=True)))
    weights = guess(lists, GivenWeights())
    first = (1 - weights.lm_weight) * spread(lists, lists.first_pass)
    model = weights.lm_weight * spread(lists, lists.mix(weights.shares, "sum"))
    assert 0.35 * first < model < 0.5 * first


@pytest.mark.parametrize("where", ["first pass", "model"])
@pytest.mark.parametrize("value", [-1e9, 1e9, -1e5])
def test_one_extreme_score_does_not_move_the_weights_of_all_lists(where, value):
    lists = make(11, count=41).lists
    expected = guess(lists, GivenWeights())
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
    found = guess(spoiled, GivenWeights())
    assert found.lm_weight == pytest.approx(expected.lm_weight, rel=0.02)
    assert found.scale == pytest.approx(expected.scale, rel=0.02)
    kept = np.arange(41) != longest
    same = select(spoiled, found)[kept] == select(lists, expected)[kept]
    assert same.mean() > 0.95


def test_an_extreme_score_of_the_only_list_does_not_count():
    arrays = scored({"a": (-1.0, -5.0), "b": (-2.0, -3.0), "c": (-1e9, -4.0)})
    without = scored({"a": (-1.0, -5.0), "b": (-2.0, -3.0), "c": (-1.5, -4.0)})
    one, other = (guess(lists, GivenWeights()).lm_weight for lists in (arrays, without))
    assert one == pytest.approx(other, rel=0.2)
