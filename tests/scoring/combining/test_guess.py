"""The guess. Its constants are chosen on dev lists; here are what they promise."""

import dataclasses
import math

import numpy as np
import pytest

from tests.scoring.combining.random_lists import WER, make
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import decide, select
from tta.scoring.combining.guess import extreme, guess, spread
from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import RANK, ScoredLists
from tta.scoring.combining.weights import FIRST_PASS, FixedWeights, RerankWeights
from tta.scoring.metrics.risk import PairwiseLosses


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


def test_a_model_alone():
    lists = make(3).lists
    total, mean = (
        guess(lists, FixedWeights(lm_weight=1.0, reduction=reduction))
        for reduction in ("sum", "mean")
    )
    assert (total.lm_weight, total.length_bonus, total.scale) == (1, 4.5, pytest.approx(0.2 / 9))
    assert (mean.lm_weight, mean.length_bonus, mean.scale) == (1, 0, pytest.approx(0.2 / 0.9))


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


@pytest.mark.parametrize("reduction", [None, "sum", "mean"])
def test_the_unit_of_the_first_pass_of_many_lists_changes_nothing(reduction):
    lists = make(7, count=300).lists.with_list_features(WER)
    given = dataclasses.replace(free(lists), reduction=reduction)
    picks = select(lists, guess(lists, given))
    for scale in (2.0**-20, 2.0**20):
        other = dataclasses.replace(lists, first_pass=lists.first_pass * scale)
        weights = guess(other, given)
        assert 0 < weights.lm_weight < 1
        np.testing.assert_array_equal(select(other, weights), picks)
    assert not np.array_equal(picks, select(lists, FIRST_PASS))


def test_a_constant_of_each_list_changes_nothing():
    lists = make(8).lists.with_list_features(WER)
    constants = np.random.default_rng(0).uniform(-50_000, 0, [31, 1]).round()
    shifted = dataclasses.replace(lists, first_pass=lists.first_pass + constants)
    one, other = guess(lists, free(lists)), guess(shifted, free(lists))
    assert other.lm_weight == pytest.approx(one.lm_weight)
    assert other.length_bonus == pytest.approx(one.length_bonus)
    assert other.scale == pytest.approx(one.scale)
    np.testing.assert_array_equal(select(shifted, other), select(lists, one))


def test_first_pass_scores_that_are_equal_are_like_missing_ones():
    missing = make(9, scores=False).lists
    equal = dataclasses.replace(missing, first_pass=np.where(missing.present, 1.0, 0.0))
    assert guess(equal, FixedWeights()) == guess(missing, FixedWeights())


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("scores", [(-1.0, -1.0), (-1.0, -2.0), (None, None), (-1.0,), ()])
def test_lists_that_say_nothing(scores, count):
    # There is no spread to go by, and nothing to divide by.
    one = NBestList("u1", tuple(Hypothesis("", score) for score in scores))
    other = NBestList("u2", (Hypothesis("", scores[0] if scores else None),))
    lists = ScoredLists.build([one, other], *[{"": (0.0, 0)}] * count)
    weights = guess(lists, FixedWeights())
    assert weights.shares == tuple(1 / count for _ in range(count))
    assert np.isfinite(decide(lists, weights).combined[lists.present]).all()
    assert select(lists, weights).tolist() == [0, 0]


@pytest.mark.parametrize("scores", [True, False], ids=["scores", "no scores"])
def test_the_number_of_words_has_no_pole(scores):
    """One stray blank among many texts without blanks, or one split word in thirty lists."""
    texts = ["光が見える", "光が見えた", "光見える"]
    hypotheses = tuple(Hypothesis(t, -1.0 * j if scores else None) for j, t in enumerate(texts))
    lists = [NBestList(f"u{i}", hypotheses) for i in range(30)]
    stray = dataclasses.replace(hypotheses[1], text="光 が見えた")
    spoiled = [NBestList("u0", (hypotheses[0], stray)), *lists[1:]]
    for models in ((), ({h.text: (-20.0, 9) for one in spoiled for h in one.hypotheses},)):
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


def test_the_bonus_picks_nothing_that_both_scores_find_worse():
    """The longer one is worse by little in both; a bonus per word alone would pick it."""
    texts = {"yes": (-6.0, -12.0), "yes please do": (-6.01, -12.1)}
    lists = scored(texts)
    weights = guess(lists, FixedWeights())
    measured = dataclasses.replace(weights, bonus_is_guessed=False)
    assert select(lists, measured).tolist() == [1]  # the bonus is right on average
    assert select(lists, weights).tolist() == [0]
    plain = decide(lists, dataclasses.replace(measured, length_bonus=0.0))
    found = decide(lists, weights)
    for name in ("combined", "posteriors", "expected_losses", "order"):
        np.testing.assert_array_equal(getattr(found, name), getattr(plain, name))
    assert not found.terms(["lm"])["num_words"].any()
    # Where one of the scores prefers the longer one, the bonus may decide.
    lists = scored({"no": (-6.0, -12.2), "no please do": (-6.01, -12.1)}, texts)
    assert select(lists, guess(lists, FixedWeights())).tolist() == [1, 0]


def test_rounding_keeps_what_the_guess_knows_of_its_bonus():
    lists = scored({"yes": (-6.0, -12.0), "yes please do": (-6.01, -12.1)})
    weights = guess(lists, FixedWeights())
    assert weights.rounded(FixedWeights()).bonus_is_guessed
    for given in ({"length_bonus": 3.0}, {"lm_weight": 1.0}, {"lm_weight": 0.0}):
        assert not guess(lists, FixedWeights(**given)).bonus_is_guessed


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
        scales.append(guess(arrays, FixedWeights(shares=(1.0,))).scale)
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
    lists = ScoredLists.build(nbest, model, losses=PairwiseLosses.build(nbest, WER))
    return lists.with_list_features(WER)


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
        assert select(arrays, guess(arrays, free(arrays))).tolist() == [1] * len(lists)


def test_a_first_pass_that_is_sure_is_kept():
    arrays = scored({"a b": (-1.0, -20.0), "a c": (-20.0, -12.0)})
    assert select(arrays, guess(arrays, free(arrays))).tolist() == [0]


def test_five_hypotheses_show_the_unit_of_their_scores():
    """As ATIS: means of log-probabilities that vary by 0.06."""
    texts = ("a b c", "a b d", "a e c", "a b", "f b c")
    firsts, models = (-0.30, -0.36, -0.41, -0.44, -0.47), (-30.0, -24.0, -35.0, -22.0, -41.0)
    lists = scored(dict(zip(texts, zip(firsts, models, strict=True), strict=True)))
    weights = guess(lists, FixedWeights())
    first = weights.scale * (1 - weights.lm_weight) * spread(lists, lists.first_pass)
    assert 0.7 < first < 1


def test_the_spread_of_ranks_is_known():
    lists = make(3, models=()).lists
    ranked = dataclasses.replace(lists, first_pass=lists.features[RANK], ranked=True)
    weights = guess(ranked, FixedWeights())
    assert weights.scale == pytest.approx(1 / 0.6)


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


def test_an_extreme_score_of_the_only_list_does_not_count():
    arrays = scored({"a": (-1.0, -5.0), "b": (-2.0, -3.0), "c": (-1e9, -4.0)})
    without = scored({"a": (-1.0, -5.0), "b": (-2.0, -3.0), "c": (-1.5, -4.0)})
    one, other = (guess(lists, FixedWeights()).lm_weight for lists in (arrays, without))
    assert one == pytest.approx(other, rel=0.2)


@pytest.mark.parametrize("seed", range(5))
def test_spread_and_extreme_scores_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    lists = make(seed, count=41).lists
    scores = lists.first_pass.round(seed)
    scores[rng.random(scores.shape) < 0.05] = -1e9
    scores[::7] = 3.0
    several = lists.present.sum(axis=1, keepdims=True) > 1
    masked = np.where(lists.present & several, scores, np.nan)
    distances = np.abs(masked - np.nanmedian(np.where(several, masked, 0.0), axis=1, keepdims=True))
    limit = 100 * np.quantile(distances[distances > 0], 0.5, method="lower")
    np.testing.assert_array_equal(extreme(lists, scores), distances > limit)
    assert extreme(lists, scores).any()
    kept = np.ma.array(scores, mask=~lists.present | (distances > limit))
    deviations = kept.std(axis=1).filled(0.0)
    assert spread(lists, scores) == deviations[deviations > 0].mean()


def test_the_median_of_an_even_number_of_scores_is_between_the_middle_two():
    lists = make(1, count=41).lists
    present = np.arange(lists.present.shape[1]) < 2
    lists = dataclasses.replace(lists, present=np.tile(present, (41, 1)))
    scores = np.where(np.arange(lists.present.shape[1]) == 1, -2.0, 0.0) * np.ones([41, 1])
    scores[0, 1] = -300.0  # 150 from the median of its list; the others are 1 from theirs
    np.testing.assert_array_equal(extreme(lists, scores)[0], lists.present[0])
    assert not extreme(lists, scores)[1:].any()
