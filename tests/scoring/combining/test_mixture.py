import dataclasses
import functools

import numpy as np
import pytest

from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import combine, select
from tta.scoring.combining.mixture import guess_mixture, tune_mixture
from tta.scoring.combining.scored_lists import ModelScores, ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.systems import choose_systems
from tta.scoring.combining.tuning import error_of, guess, spread
from tta.scoring.combining.weights import (
    FIRST_PASS,
    GivenWeights,
    RerankWeights,
    only,
)
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.error_rate import WordErrorRate

WER = WordErrorRate()


def make(seed, useful, count=31, scores=True, scales=(1.0, 1.0, 1.0)):
    """Makes lists, and models that penalize a wrong word by `useful` nats each, with noise.

    Returns:
        (lists, `ScoredLists` with the scores of all models).
    """
    random = np.random.default_rng(seed)
    lists, token_scores = [], [{} for _ in useful]
    for number in range(count):
        reference = random.choice(list("abcdefgh"), size=random.integers(3, 9))
        hypotheses = []
        for i in range(random.integers(2, 9)):
            wrong = random.random(len(reference)) < 0.3
            text = " ".join([*np.where(wrong, "x", reference), f"{number}-{i}"])
            first_pass = float(-0.5 * wrong.sum() + random.normal(0, 1.5))
            hypotheses.append(Hypothesis(text, first_pass if scores else None))
            for k, (nats, scale) in enumerate(zip(useful, scales, strict=False)):
                score = -3.0 * len(text.split()) - nats * wrong.sum() + random.normal(0, 2)
                token_scores[k][text] = (scale * score, (k + 1) * len(text.split()))
        lists.append(NBestList(f"u{number}", tuple(hypotheses), " ".join(reference)))
    return lists, ScoredLists.build(lists, *token_scores)


def systems_of(lists, statistics, lm_weights=None, length_bonus=None, reduction=None):
    """The weights of the systems with a model alone, and of those with the first pass."""
    names = [f"m{k}" for k in range(len(lists.models))]
    systems = choose_systems(names, lists, statistics, lm_weights, length_bonus, reduction)
    assert systems.final is list(systems.reranked.values())[-1]
    return systems.alone, systems.reranked


def test_the_mixture_is_the_formula_with_a_weight_a_model():
    _, lists = make(0, useful=(1.0, 0.5, 2.0))
    weights = RerankWeights(0.4, 0.7, "mean", (0.5, 0.2, 0.3))
    w = weights.lm_weights
    assert w == pytest.approx((0.2, 0.08, 0.12))
    expected = (1 - sum(w)) * lists.first_pass + 0.7 * lists.num_words
    for weight, model in zip(w, lists.models, strict=True):
        expected = expected + weight * model.reduced["mean"]
    combined = combine(lists, weights)
    np.testing.assert_allclose(combined[lists.present], expected[lists.present])


def test_a_lone_model_is_itself_bit_for_bit():
    _, both = make(1, useful=(1.0, 1.0))
    first = dataclasses.replace(both, models=both.models[:1])
    for reduction in ("sum", "mean"):
        for mixed in (first.mix((1.0,), reduction), both.mix((1.0, 0.0), reduction)):
            np.testing.assert_array_equal(mixed, both.models[0].reduced[reduction])


@pytest.mark.parametrize("metric", [WER, Bleu("none")], ids=lambda metric: metric.name)
@pytest.mark.parametrize("useful", [(1.0, 0.8), (2.0, -1.5), (-1.0, -1.0), (0.4, 0.0, 0.6)])
@pytest.mark.parametrize("scores", [True, False])
def test_together_is_never_worse_on_dev_than_anything_alone_or_the_first_pass(
    metric, useful, scores
):
    for seed in range(3):
        nbest, lists = make(seed, useful, count=11, scores=scores)
        statistics = ListStatistics.build(nbest, metric)
        alone, reranked = systems_of(lists, statistics)
        measure = functools.partial(error_of, lists, statistics)
        together = measure(reranked.pop("together"))
        for rival in [*alone.values(), *reranked.values()]:
            assert together <= measure(rival)
        assert together <= measure(FIRST_PASS)


def test_two_models_that_know_different_things_are_both_let_in():
    nbest, lists = make(7, useful=(1.0, 1.0), count=301)
    statistics = ListStatistics.build(nbest, WER)
    _, reranked = systems_of(lists, statistics)
    together = reranked["together"]
    assert min(together.shares) > 0.2
    assert sum(together.shares) == pytest.approx(1)
    best = min(error_of(lists, statistics, reranked[name]) for name in reranked)
    assert error_of(lists, statistics, together) == best
    assert best < 0.97 * error_of(lists, statistics, reranked["m0 reranked"])


def test_a_useless_model_is_left_with_little():
    nbest, lists = make(8, useful=(3.0, 0.0), count=301)
    _, reranked = systems_of(lists, ListStatistics.build(nbest, WER))
    assert reranked["together"].shares[0] > 0.8


def test_shares_follow_the_scale_of_the_scores():
    nbest, lists = make(9, useful=(1.0, 1.0), count=101)
    _, scaled = make(9, useful=(1.0, 1.0), count=101, scales=(1.0, 1e-3))
    statistics = ListStatistics.build(nbest, WER)
    _, one = systems_of(lists, statistics)
    _, other = systems_of(scaled, statistics)
    first, second = (m["together"].shares for m in (one, other))
    assert min(first) > 0.1
    # Within a step of the search, which is a factor of two, and not a thousand.
    ratio = second[1] / second[0] / (1e3 * first[1] / first[0])
    assert 0.4 < ratio < 2.5


def test_nothing_that_helps_keeps_the_first_pass():
    nbest, lists = make(10, useful=(0.0, 0.0))
    statistics = ListStatistics.build(nbest, WER)
    perfect = -statistics.counts[:, :, :3].sum(axis=-1).astype(float)
    lists = dataclasses.replace(lists, first_pass=perfect)
    _, reranked = systems_of(lists, statistics)
    together = reranked["together"]
    assert dataclasses.replace(together, shares=FIRST_PASS.shares) == FIRST_PASS


def test_what_is_given_is_kept():
    nbest, lists = make(11, useful=(1.0, 1.0))
    statistics = ListStatistics.build(nbest, WER)
    for known in (statistics, None):
        alone, reranked = systems_of(lists, known, [0.1, 0.3], -0.25, "mean")
        assert reranked["together"].lm_weights == pytest.approx((0.1, 0.3))
        assert reranked["m1 reranked"].lm_weights == (0.0, 0.3)
        assert {one.length_bonus for one in reranked.values()} == {-0.25}
        assert {one.reduction for one in (alone | reranked).values()} == {"mean"}
        assert alone["m1 alone"].lm_weights == (0.0, 1.0)
    _, reranked = systems_of(lists, statistics, length_bonus=0.5, reduction="sum")
    assert reranked["together"].length_bonus == 0.5
    assert reranked["together"].reduction == "sum"


def test_one_model_has_today_s_names():
    nbest, lists = make(12, useful=(1.0,))
    alone, reranked = systems_of(lists, ListStatistics.build(nbest, WER))
    assert (list(alone), list(reranked)) == (["LM alone"], ["reranked"])


@pytest.mark.parametrize("scores", [True, False])
def test_without_dev_lists_every_model_varies_alike(scores):
    _, lists = make(13, useful=(1.0, 1.0, 1.0), scores=scores, scales=(1.0, 0.01, 50.0))
    weights = guess_mixture(lists, GivenWeights())
    varies = [
        share * spread(lists, model.reduced[weights.reduction])
        for share, model in zip(weights.shares, lists.models, strict=True)
    ]
    np.testing.assert_allclose(varies, varies[0])
    assert sum(weights.shares) == pytest.approx(1)
    assert weights == guess(lists, GivenWeights(shares=weights.shares))


def test_models_that_say_nothing_get_a_share_too():
    one = NBestList("u1", (Hypothesis("a", -1.0), Hypothesis("b", -2.0)), "a")
    lists = ScoredLists.build([one], *[{"a": (-1.0, 1), "b": (-1.0, 1)}] * 2)
    assert guess_mixture(lists, GivenWeights()).shares == (0.5, 0.5)
    _, reranked = systems_of(lists, ListStatistics.build([one], WER))
    weights = dataclasses.replace(reranked["together"], shares=(0.5, 0.5))
    assert select(lists, weights).tolist() == [0]


def test_the_search_is_never_worse_than_any_rival_it_is_given():
    # A rival that nothing with the given reduction can match: then it is the answer.
    nbest, lists = make(14, useful=(0.5, 0.5))
    statistics = ListStatistics.build(nbest, WER)
    perfect = -statistics.counts[:, :, :3].sum(axis=-1).astype(float)
    first, second = lists.models
    second = ModelScores({"sum": perfect, "mean": -perfect}, second.num_tokens)
    lists = dataclasses.replace(lists, models=(first, second))
    rival = RerankWeights(1.0, shares=only(1, 2))
    assert tune_mixture(lists, statistics, [rival], GivenWeights(reduction="mean")) == rival
    assert tune_mixture(lists, statistics, [rival], GivenWeights()).reduction == "sum"
