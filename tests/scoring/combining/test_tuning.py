import dataclasses

import numpy as np
import pytest

from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining import tuning
from tta.scoring.combining.decision import combine, select
from tta.scoring.combining.scored_lists import ModelScores, ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.tuning import guess, tune
from tta.scoring.combining.weights import FIRST_PASS, GivenWeights, RerankWeights
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.error_rate import WordErrorRate

WER = WordErrorRate()


def make(seed, count=61, useful=0.8, scale=1.0, scores=True):
    """Lists whose language model prefers the truth by `useful` nats a wrong word, under noise."""
    random = np.random.default_rng(seed)
    lists, token_scores = [], {}
    for number in range(count):
        reference = random.choice(list("abcdefgh"), size=random.integers(3, 9))
        hypotheses = []
        for _ in range(random.integers(2, 12)):
            wrong = random.random(len(reference)) < 0.3
            words = np.where(wrong, "x", reference)
            words = words[: len(words) - (random.random() < 0.3)]
            text = " ".join([*words, str(random.integers(0, 3))])  # an inserted word
            first_pass = scale * (-0.8 * wrong.sum() + random.normal(0, 1.5))
            hypotheses.append(Hypothesis(text, float(first_pass) if scores else None))
            words = text.split()
            score = -3.0 * len(words) - useful * wrong.sum() + random.normal(0, 2)
            token_scores[text] = (score, 2 * len(words))
        lists.append(NBestList(f"u{number}", tuple(hypotheses), " ".join(reference)))
    return lists, ScoredLists.build(lists, token_scores)


def value(arrays, statistics, weights):
    return statistics.value(select(arrays, weights))


@pytest.mark.parametrize("metric", [WER, Bleu("none")], ids=lambda metric: metric.name)
@pytest.mark.parametrize("scores", [True, False])
@pytest.mark.parametrize("useful", [1.2, 0.0, -1.2])
def test_tuned_weights_are_never_worse_than_the_first_pass(useful, scores, metric):
    for seed in range(5):
        lists, arrays = make(seed, count=23, useful=useful, scores=scores)
        statistics = ListStatistics.build(lists, metric)
        weights = tune(arrays, statistics, GivenWeights())
        gain = value(arrays, statistics, weights) - value(arrays, statistics, FIRST_PASS)
        assert gain >= 0 if metric.higher_is_better else gain <= 0


def test_a_useful_model_gets_weight_and_a_harmful_one_none():
    lists, arrays = make(seed=1, count=211, useful=3.0)
    statistics = ListStatistics.build(lists, WER)
    weights = tune(arrays, statistics, GivenWeights())
    assert weights.lm_weight > 0.1
    first_pass = value(arrays, statistics, FIRST_PASS)
    assert value(arrays, statistics, weights) < 0.9 * first_pass
    perfect = [
        dataclasses.replace(
            one,
            hypotheses=tuple(
                dataclasses.replace(
                    h, score=-float(WER.statistics([h.text], one.reference)[0, :3].sum())
                )
                for h in one.hypotheses
            ),
        )
        for one in lists
    ]
    arrays = ScoredLists.build(
        perfect, {h.text: (-1.0, 1) for one in perfect for h in one.hypotheses}
    )
    assert tune(arrays, statistics, GivenWeights()) == FIRST_PASS  # it cannot be beaten
    given = GivenWeights(reduction="mean")
    assert tune(arrays, statistics, given) == RerankWeights(0.0, 0.0, "mean")


@pytest.mark.parametrize("scale", [1e-2, 1e2])
def test_the_grid_moves_with_the_scores_scale(scale):
    # The grid is even in the log of the share, so 100 times the score is just 20 steps along it.
    lists, arrays = make(seed=2, count=211, useful=1.0)
    statistics = ListStatistics.build(lists, WER)
    one = tune(arrays, statistics, GivenWeights())
    scaled = dataclasses.replace(arrays, first_pass=arrays.first_pass * scale)
    other = tune(scaled, statistics, GivenWeights())
    assert share(other) == pytest.approx(scale * share(one))
    assert other.reduction == one.reduction
    np.testing.assert_array_equal(select(scaled, other), select(arrays, one))


def test_padding_changes_nothing():
    lists, arrays = make(seed=3)
    statistics = ListStatistics.build(lists, WER)

    def widen(array):
        return np.pad(array, [(0, 0), (0, 5), *[(0, 0)] * (array.ndim - 2)])

    (model,) = arrays.models
    wide = dataclasses.replace(
        arrays,
        present=widen(arrays.present),
        first_pass=widen(arrays.first_pass),
        num_words=widen(arrays.num_words),
        models=(
            ModelScores(
                {name: widen(scores) for name, scores in model.reduced.items()},
                widen(model.num_tokens),
            ),
        ),
    )
    wide_statistics = ListStatistics(WER, widen(statistics.counts), wide.present)
    assert tune(wide, wide_statistics, GivenWeights()) == tune(arrays, statistics, GivenWeights())
    for reduction in ("sum", "mean"):
        given = GivenWeights(reduction=reduction)
        one, other = guess(arrays, given), guess(wide, given)
        assert other.lm_weight == pytest.approx(one.lm_weight)
        assert other.length_bonus == pytest.approx(one.length_bonus)


def test_what_is_given_is_kept():
    lists, arrays = make(seed=3)
    statistics = ListStatistics.build(lists, WER)
    assert tune(arrays, statistics, GivenWeights(lm_weight=0.3)).lm_weight == 0.3
    assert tune(arrays, statistics, GivenWeights(length_bonus=-0.25)).length_bonus == -0.25
    assert tune(arrays, statistics, GivenWeights(reduction="mean")).reduction == "mean"
    given = {"lm_weight": 0.25, "length_bonus": 0.5, "reduction": "mean"}
    assert tune(arrays, statistics, GivenWeights(**given)) == RerankWeights(**given)
    assert guess(arrays, GivenWeights(**given)) == RerankWeights(**given)


def test_without_first_pass_scores_the_language_model_decides():
    lists, arrays = make(seed=4, useful=3.0, scores=False)
    assert tune(arrays, ListStatistics.build(lists, WER), GivenWeights()).lm_weight == 1.0
    assert guess(arrays, GivenWeights()).lm_weight == 1.0


def share(weights):
    """The language model's share, w / (1 - w)."""
    return weights.lm_weight / (1 - weights.lm_weight)


def plateau(low, high):
    """Lists that are right for a language model's share w / (1 - w) between two bounds alone."""
    hypotheses = [("right r r", 0.0), ("early r r", np.log(2)), ("late r r", -np.log(2))]
    # In logs of the share both wrong hypotheses take over at the bounds: first_pass gives the
    # first its lead below `low`, the language model gives the last its lead above `high`.
    texts = {
        "right r r": -9.0,
        "early r r": -9.0 - np.log(2) / low,
        "late r r": -9.0 + np.log(2) / high,
    }
    one = NBestList("u1", tuple(Hypothesis(t, float(s)) for t, s in hypotheses), "right r r")
    arrays = ScoredLists.build([one], {text: (float(score), 3) for text, score in texts.items()})
    return arrays, ListStatistics.build([one], WER)


def test_on_a_plateau_the_choice_lies_inside_and_not_at_its_edge():
    low, high = 1 / 20, 5.0
    arrays, statistics = plateau(low, high)
    weights = tune(arrays, statistics, GivenWeights(reduction="sum"))
    assert value(arrays, statistics, weights) == 0
    # The plateau is 20 steps wide; 4 steps or more from both edges.
    assert 10 * np.log10(share(weights) / low) > 4
    assert 10 * np.log10(high / share(weights)) > 4
    assert tune(arrays, statistics, GivenWeights(reduction="sum")) == weights


def test_a_lone_lucky_point_loses_against_a_good_region(monkeypatch):
    lists, arrays = make(seed=6, count=7)
    grid = np.full([1, len(tuning.LM_WEIGHTS), len(tuning.BONUSES)], 20.0)
    grid[0, 5, 5] = 9.0
    grid[0, 30:40, 10:20] = 10.0
    errors = iter([grid, 20.0])
    monkeypatch.setattr(ListStatistics, "error", lambda self, totals: next(errors))
    weights = tune(arrays, ListStatistics.build(lists, WER), GivenWeights(reduction="sum"))
    assert tuning.LM_WEIGHTS[33] <= weights.lm_weight <= tuning.LM_WEIGHTS[36]


def test_a_good_region_s_point_that_does_not_beat_the_first_pass_is_not_chosen(monkeypatch):
    lists, arrays = make(seed=6, count=7)
    i, j = np.mgrid[: len(tuning.LM_WEIGHTS), : len(tuning.BONUSES)]
    grid = 8 + 0.5 * ((i - 30.0) ** 2 + (j - 20.0) ** 2)
    grid[30, 20] = 9.0  # the middle of a bowl, and no better than the first pass
    errors = iter([grid[None], 9.0])
    monkeypatch.setattr(ListStatistics, "error", lambda self, totals: next(errors))
    weights = tune(arrays, ListStatistics.build(lists, WER), GivenWeights(reduction="sum"))
    chosen = np.abs(tuning.LM_WEIGHTS - weights.lm_weight).argmin()
    assert chosen == 29  # a neighbour; of the four the one with the smallest weight


@pytest.mark.parametrize("reduction", [None, "sum", "mean"])
def test_a_guess_makes_the_same_picks_whatever_the_scale(reduction):
    # 2 ** 20 keeps every bit of the scores.
    _, arrays = make(seed=8)
    picks = select(arrays, guess(arrays, GivenWeights(reduction=reduction)))
    for scale in (2.0**-20, 2.0**20):
        other = dataclasses.replace(arrays, first_pass=arrays.first_pass * scale)
        weights = guess(other, GivenWeights(reduction=reduction))
        assert 0 < weights.lm_weight < 1
        np.testing.assert_array_equal(select(other, weights), picks)
    assert not np.array_equal(picks, select(arrays, FIRST_PASS))


def test_a_guess_for_lists_that_say_nothing():
    # One hypothesis a list, or equal scores: no spread to go by, and nothing to divide by.
    one = NBestList("u1", (Hypothesis("", -1.0),))
    arrays = ScoredLists.build([one], {"": (0.0, 0)})
    assert np.isfinite(combine(arrays, guess(arrays, GivenWeights()))).all()


def test_a_bonus_of_the_cost_of_a_word_centres_the_language_model():
    _, arrays = make(seed=9)
    bonus = tuning.cost_of_a_word(arrays, arrays.models[0].reduced["sum"])
    paid = combine(arrays, RerankWeights(1.0, bonus))
    assert paid[arrays.present].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("given", [GivenWeights(), GivenWeights(reduction="mean")])
def test_a_constant_of_each_list_changes_neither_guess_nor_tuning(given):
    # Recognizers add a constant to all scores of a list, such as examples/README.md describes.
    lists, arrays = make(seed=10, count=101)
    constants = np.random.default_rng(0).uniform(-50_000, 0, [101, 1]).round()
    shifted = dataclasses.replace(arrays, first_pass=arrays.first_pass + constants)
    statistics = ListStatistics.build(lists, WER)
    for choose in (guess, lambda arrays, given: tune(arrays, statistics, given)):
        one, other = choose(arrays, given), choose(shifted, given)
        assert other.lm_weight == pytest.approx(one.lm_weight)
        assert other.length_bonus == pytest.approx(one.length_bonus)
        np.testing.assert_array_equal(select(shifted, other), select(arrays, one))


def test_first_pass_scores_that_are_equal_leave_the_choice_to_the_language_model():
    lists, arrays = make(seed=4, useful=3.0)
    equal = [
        dataclasses.replace(
            one,
            hypotheses=tuple(dataclasses.replace(h, score=i + 0.1) for h in one.hypotheses),
        )
        for i, one in enumerate(lists)
    ]
    missing = [
        dataclasses.replace(
            one, hypotheses=tuple(dataclasses.replace(h, score=None) for h in one.hypotheses)
        )
        for one in lists
    ]
    statistics = ListStatistics.build(lists, WER)
    (model,) = arrays.models
    built = [dataclasses.replace(ScoredLists.build(x), models=(model,)) for x in (equal, missing)]
    for choose in (guess, lambda arrays, given: tune(arrays, statistics, given)):
        one, other = (choose(arrays, GivenWeights()) for arrays in built)
        assert one == other
        assert one.lm_weight == 1
