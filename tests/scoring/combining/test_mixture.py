import dataclasses
import functools

import numpy as np
import pytest

from tta.data.nbest.files import Hypothesis, NBestList
from tta.errors import InputError
from tta.scoring.combining.mixture import (
    MixtureWeights,
    guess_mixture,
    split_lm_weights,
    tune_mixture,
)
from tta.scoring.combining.scored_lists import (
    FIRST_PASS,
    RerankWeights,
    ScoredLists,
    combine,
    count_statistics,
    mix,
    select,
)
from tta.scoring.combining.systems import choose_systems
from tta.scoring.combining.tuning import error_of, guess, spread
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.error_rate import WordErrorRate

WER = WordErrorRate()


def make(seed, useful, count=31, scores=True, scales=(1.0, 1.0, 1.0)):
    """Lists, and models that dislike wrong words by `useful` nats each, with noise of their own.

    Returns:
        (lists, `ScoredLists` of each model).
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
    return lists, [ScoredLists.build(lists, one) for one in token_scores]


def systems_of(models, statistics, metric, lm_weights=None, length_bonus=None, reduction=None):
    names = [f"m{k}" for k in range(len(models))]
    return choose_systems(names, models, statistics, metric, lm_weights, length_bonus, reduction)


def error(models, statistics, metric, mixture):
    return error_of(mix(models, mixture.shares), statistics, metric, mixture.weights)


def test_the_mixture_is_the_formula_with_a_weight_a_model():
    _, models = make(0, useful=(1.0, 0.5, 2.0))
    mixture = MixtureWeights((0.5, 0.2, 0.3), RerankWeights(0.4, 0.7, "mean"))
    w = mixture.lm_weights
    assert w == pytest.approx((0.2, 0.08, 0.12))
    expected = (1 - sum(w)) * models[0].first_pass + 0.7 * models[0].num_words
    for weight, model in zip(w, models, strict=True):
        expected = expected + weight * model.lm["mean"]
    combined = combine(mix(models, mixture.shares), mixture.weights)
    np.testing.assert_allclose(combined[models[0].present], expected[models[0].present])


def test_a_lone_model_is_itself_bit_for_bit():
    _, (first, second) = make(1, useful=(1.0, 1.0))
    for mixed in (mix([first], (1.0,)), mix([first, second], (1.0, 0.0))):
        for reduction in ("sum", "mean"):
            np.testing.assert_array_equal(mixed.lm[reduction], first.lm[reduction])


@pytest.mark.parametrize("metric", [WER, Bleu("none")], ids=lambda metric: metric.name)
@pytest.mark.parametrize("useful", [(1.0, 0.8), (2.0, -1.5), (-1.0, -1.0), (0.4, 0.0, 0.6)])
@pytest.mark.parametrize("scores", [True, False])
def test_together_is_never_worse_on_dev_than_anything_alone_or_the_first_pass(
    metric, useful, scores
):
    for seed in range(3):
        lists, models = make(seed, useful, count=11, scores=scores)
        statistics = count_statistics(lists, metric)
        alone, reranked = systems_of(models, statistics, metric)
        measure = functools.partial(error, models, statistics, metric)
        together = measure(reranked.pop("together"))
        for rival in [*alone.values(), *reranked.values()]:
            assert together <= measure(rival)
        assert together <= error_of(models[0], statistics, metric, FIRST_PASS)


def test_two_models_that_know_different_things_are_both_let_in():
    lists, models = make(7, useful=(1.0, 1.0), count=301)
    statistics = count_statistics(lists, WER)
    _, reranked = systems_of(models, statistics, WER)
    together = reranked["together"]
    assert min(together.shares) > 0.2
    assert sum(together.shares) == pytest.approx(1)
    best = min(error(models, statistics, WER, reranked[name]) for name in reranked)
    assert error(models, statistics, WER, together) == best
    assert best < 0.97 * error(models, statistics, WER, reranked["m0 reranked"])


def test_a_useless_model_is_left_with_little():
    lists, models = make(8, useful=(3.0, 0.0), count=301)
    statistics = count_statistics(lists, WER)
    _, reranked = systems_of(models, statistics, WER)
    assert reranked["together"].shares[0] > 0.8


def test_shares_follow_the_scale_of_the_scores():
    lists, models = make(9, useful=(1.0, 1.0), count=101)
    _, scaled = make(9, useful=(1.0, 1.0), count=101, scales=(1.0, 1e-3))
    statistics = count_statistics(lists, WER)
    _, one = systems_of(models, statistics, WER)
    _, other = systems_of(scaled, statistics, WER)
    first, second = (m["together"].shares for m in (one, other))
    assert min(first) > 0.1
    # Within a step of the search, which is a factor of two, and not a thousand.
    ratio = second[1] / second[0] / (1e3 * first[1] / first[0])
    assert 0.4 < ratio < 2.5


def test_nothing_that_helps_keeps_the_first_pass():
    lists, models = make(10, useful=(0.0, 0.0))
    statistics = count_statistics(lists, WER)
    perfect = -statistics[:, :, :3].sum(axis=-1).astype(float)
    models = [dataclasses.replace(model, first_pass=perfect) for model in models]
    _, reranked = systems_of(models, statistics, WER)
    assert reranked["together"].weights == FIRST_PASS


def test_what_is_given_is_kept():
    lists, models = make(11, useful=(1.0, 1.0))
    statistics = count_statistics(lists, WER)
    for known in (statistics, None):
        alone, reranked = systems_of(models, known, WER, [0.1, 0.3], -0.25, "mean")
        assert reranked["together"].lm_weights == pytest.approx((0.1, 0.3))
        assert reranked["m1 reranked"].lm_weights == (0.0, 0.3)
        assert {one.weights.length_bonus for one in reranked.values()} == {-0.25}
        assert {one.weights.reduction for one in (alone | reranked).values()} == {"mean"}
        assert alone["m1 alone"].lm_weights == (0.0, 1.0)
    _, reranked = systems_of(models, statistics, WER, length_bonus=0.5, reduction="sum")
    assert reranked["together"].weights.length_bonus == 0.5
    assert reranked["together"].weights.reduction == "sum"


def test_one_model_has_today_s_names():
    lists, models = make(12, useful=(1.0,))
    alone, reranked = systems_of(models, count_statistics(lists, WER), WER)
    assert (list(alone), list(reranked)) == (["LM alone"], ["reranked"])


@pytest.mark.parametrize("scores", [True, False])
def test_without_dev_lists_every_model_varies_alike(scores):
    _, models = make(13, useful=(1.0, 1.0, 1.0), scores=scores, scales=(1.0, 0.01, 50.0))
    mixture = guess_mixture(models)
    reduction = mixture.weights.reduction
    varies = [
        share * spread(model, model.lm[reduction])
        for share, model in zip(mixture.shares, models, strict=True)
    ]
    np.testing.assert_allclose(varies, varies[0])
    assert sum(mixture.shares) == pytest.approx(1)
    assert mixture.weights == guess(mix(models, mixture.shares))


def test_models_that_say_nothing_get_a_share_too():
    one = NBestList("u1", (Hypothesis("a", -1.0), Hypothesis("b", -2.0)), "a")
    models = [ScoredLists.build([one], {"a": (-1.0, 1), "b": (-1.0, 1)})] * 2
    assert guess_mixture(models).shares == (0.5, 0.5)
    _, reranked = systems_of(models, count_statistics([one], WER), WER)
    assert select(mix(models, (0.5, 0.5)), reranked["together"].weights).tolist() == [0]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        (None, (None, None)),
        ([0.25], (0.25, (1.0,))),
        ([0.25, 0.75], (1.0, (0.25, 0.75))),
        ([0.5, 0.0], (0.5, (1.0, 0.0))),
        ([0.0, 0.0], (0.0, (0.5, 0.5))),
    ],
)
def test_weights_split_into_the_mixture_s_and_shares(weights, expected):
    assert split_lm_weights(weights, len(weights or "ab")) == expected


def test_printed_weights_whose_sum_is_rounded_up_can_be_given_again():
    lm_weight, shares = split_lm_weights([0.666667, 0.166667, 0.166667], 3)
    assert lm_weight == 1.0
    RerankWeights(lm_weight)
    assert sum(shares) == pytest.approx(1)


@pytest.mark.parametrize(
    ("weights", "count", "rule"),
    [
        ([0.5], 2, r"one number a model, comma-separated: got 1 \(0.5\) for 2"),
        ([0.5, 0.1], 1, r"got 2 \(0.5,0.1\) for 1"),
        ([0.5, 0.6], 2, "so does their sum, got 0.5,0.6"),
        ([-0.1, 0.6], 2, "each lies between 0 and 1, .* got -0.1,0.6"),
        ([float("nan"), 0.6], 2, "got nan,0.6"),
    ],
)
def test_wrong_weights_are_told(weights, count, rule):
    with pytest.raises(InputError, match=rule):
        split_lm_weights(weights, count)


def test_the_search_is_never_worse_than_any_rival_it_is_given():
    # A rival that nothing with the given reduction can match: then it is the answer.
    lists, models = make(14, useful=(0.5, 0.5))
    statistics = count_statistics(lists, WER)
    perfect = -statistics[:, :, :3].sum(axis=-1).astype(float)
    models[1] = dataclasses.replace(models[1], lm={"sum": perfect, "mean": -perfect})
    rival = MixtureWeights.single(1, 2, RerankWeights(1.0))
    assert tune_mixture(models, statistics, WER, [rival], reduction="mean") == rival
    assert tune_mixture(models, statistics, WER, [rival]).weights.reduction == "sum"
