"""The order of each list, against the definitions in plain Python."""

import itertools
import math

import numpy as np
import pytest
import sacrebleu

from tests.scoring.combining.random_lists import WER, edits, make, nbest
from tta.scoring.combining.decision import decide, select
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.weights import FIRST_PASS, RerankWeights
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.risk import PairwiseLosses


def scored(texts, per_word=-2.0):
    """text -> (sum, number of tokens), with one token per word."""
    return {text: (per_word * len(text.split()), len(text.split())) for text in texts}


def by_first_pass(*lists, scale, metric=WER):
    """The decision by first-pass scores alone."""
    arrays = ScoredLists.build(lists, losses=PairwiseLosses.build(lists, metric))
    return decide(arrays, RerankWeights(0.0, shares=(), scale=scale))


def word_errors(hypothesis, reference):
    return edits(hypothesis.split(), reference.split())


def chrf_loss(hypothesis, reference):
    if hypothesis == reference:
        return 0.0
    return 1 - sacrebleu.sentence_chrf(hypothesis, [reference]).score / 100


SMALL = [
    [("a b c", -1.0), ("a b d", -1.2), ("x y z", -0.9), ("a b c", -2.0)],
    [("a", -0.1), ("b", -3.0), ("", -0.2), ("", -0.3)],
    [("the cat", -2.0), ("the cat sat", -2.1), ("a cat sat", -2.3), ("he sat", -1.9), ("", -9.0)],
    [("a b", 0.0), ("b a", 0.0), ("a b", 0.0)],
    [("one", -5.0)],
    [("", -5.0)],
]


@pytest.mark.parametrize("scale", [0.0, 0.3, 2.0, 50.0])
@pytest.mark.parametrize(
    ("metric", "loss"), [(WER, word_errors), (Bleu("none"), chrf_loss)], ids=["WER", "BLEU"]
)
def test_mbr_is_brute_force_in_every_order_of_the_list(metric, loss, scale):
    for hypotheses in SMALL:
        odds = {}  # equal texts add up
        for text, score in hypotheses:
            odds[text] = odds.get(text, 0.0) + math.exp(scale * score)
        p = {text: value / sum(odds.values()) for text, value in odds.items()}
        risks = {text: sum(p[other] * loss(text, other) for other in p) for text in p}
        best = min(risks.values())

        permutations = list(itertools.permutations(hypotheses))
        lists = [nbest(*one, name=str(number)) for number, one in enumerate(permutations)]
        decision = by_first_pass(*lists, scale=scale, metric=metric)
        assert decision.expected_losses is not None
        for number, permutation in enumerate(permutations):
            ordered = [permutation[i] for i in decision.ranking(number)]
            assert sorted(ordered) == sorted(hypotheses)
            found = [risks[text] for text, _ in ordered]
            assert found[0] == pytest.approx(best, abs=1e-5)
            assert found == pytest.approx(sorted(found), abs=1e-5)
            row = decision.expected_losses[number]
            assert row.tolist() == pytest.approx([risks[text] for text, _ in permutation], abs=1e-5)


def test_ties_keep_the_order_of_the_list():
    lists = [nbest(("b", -1.0), ("a", -1.0), ("a", -1.0), reference="a")]
    arrays = ScoredLists.build(lists, scored("ab"), losses=PairwiseLosses.build(lists, WER))
    for weights in (FIRST_PASS, RerankWeights(0.3), RerankWeights(1.0, 0.5, "mean")):
        assert decide(arrays, weights).ranking(0) == [0, 1, 2]
    assert decide(arrays, RerankWeights(0.3, scale=1.0)).ranking(0) == [1, 2, 0]
    assert ListStatistics.build(lists, WER).oracle().tolist() == [1]


def loop_combined(one, token_scores, weights):
    """The paper's formula, with features, in a plain loop."""
    scores = []
    for hypothesis in one.hypotheses:
        candidates = [hypothesis.text] if token_scores[hypothesis.text][1] else []
        candidates = candidates or [h.text for h in one.hypotheses if token_scores[h.text][1]]
        lm = min(
            (
                token_scores[t][0] / (token_scores[t][1] if weights.reduction == "mean" else 1)
                for t in candidates
            ),
            default=0.0,
        )
        first_pass = 0.0 if hypothesis.score is None else hypothesis.score
        for name, weight in weights.features.items():
            first_pass += weight * hypothesis.features[name]
        score = (1 - weights.lm_weight) * first_pass + weights.lm_weight * lm
        scores.append(score + weights.length_bonus * len(hypothesis.text.split()))
    return scores


def lists_and_scores(seed, scores=True):
    """Lists, some with empty hypotheses, and the scores of a model with two tokens per word."""
    made = make(seed, (1.0, 1.0), features=(0.5, -0.5), scores=scores, count=13, empty=True)
    return [one for one in made.nbest if one.hypotheses], made.token_scores[1]


@pytest.mark.parametrize("scores", [True, False])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("lm_weight", [0.0, 0.031, 1.0])
@pytest.mark.parametrize("length_bonus", [0.0, 2.3])
@pytest.mark.parametrize("features", [{}, {"f0": 0.7, "f1": -1.3}])
def test_max_is_a_plain_loop(lm_weight, length_bonus, reduction, scores, features):
    lists, token_scores = lists_and_scores(seed=5, scores=scores)
    arrays = ScoredLists.build(lists, token_scores)
    weights = RerankWeights(lm_weight, length_bonus, reduction, features=features)
    decision = decide(arrays, weights)
    np.testing.assert_array_equal(decision.picks, select(arrays, weights))
    np.testing.assert_array_equal(decision.picks, decision.order[:, 0])
    np.testing.assert_array_equal(decision.goodness, decision.combined)
    assert decision.expected_losses is None
    assert decision.combined.shape == (len(lists), max(len(one.hypotheses) for one in lists))
    assert arrays.has_scores == scores
    for i, (row, one) in enumerate(zip(decision.combined, lists, strict=True)):
        expected = loop_combined(one, token_scores, weights)
        assert decision.ranking(i) == sorted(range(len(expected)), key=lambda j: -row[j])
        np.testing.assert_allclose(row[: len(expected)], expected, rtol=1e-12)
        assert np.all(np.isneginf(row[len(expected) :]))
        picked = np.arange(len(row)) == decision.picks[i]
        np.testing.assert_array_equal(decision.posteriors[i], picked)


def test_mbr_uses_the_combined_scores():
    lists, token_scores = lists_and_scores(seed=6)
    arrays = ScoredLists.build(lists, token_scores, losses=PairwiseLosses.build(lists, WER))
    weights = RerankWeights(0.4, 0.5, "mean", scale=1.7, features={"f0": 0.7})
    decision = decide(arrays, weights)
    assert decision.expected_losses is not None
    for i, one in enumerate(lists):
        n = len(one.hypotheses)
        odds = np.exp(1.7 * np.array(loop_combined(one, token_scores, weights)))
        np.testing.assert_allclose(decision.posteriors[i, :n], odds / odds.sum())
        texts = [h.text for h in one.hypotheses]
        pairs = list(zip(odds / odds.sum(), texts, strict=True))
        risks = [sum(p * word_errors(text, other) for p, other in pairs) for text in texts]
        np.testing.assert_allclose(decision.expected_losses[i, :n], risks, atol=1e-5)
        np.testing.assert_array_equal(decision.goodness[i, :n], -decision.expected_losses[i, :n])
        assert np.all(np.isneginf(decision.goodness[i, n:]))
        assert decision.picks[i] == int(np.argmin(risks)) == decision.order[i, 0]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_the_terms_of_a_score_sum_to_it(reduction):
    lists = make(7, models=(1.0, 0.5, 2.0), features=(1.0, 0.5), empty=True).lists
    features = {"f0": 0.3, "f1": -2.0, "rank": 1.0}
    weights = RerankWeights(0.4, 0.7, reduction, (0.5, 0.0, 0.5), features=features)
    names = ["a", "b", "a (2)"]
    decision = decide(lists, weights)
    terms = decision.terms(names)
    models, of_features = (f"models.{name}.lm_score" for name in names), features.keys()
    assert list(terms) == [
        "first_pass_score", *models, "num_words", *(f"features.{name}" for name in of_features)
    ]  # fmt: skip
    combined = np.where(lists.present, decision.combined, 0.0)
    np.testing.assert_allclose(sum(terms.values()), combined, atol=1e-12)
    for name, values in terms.items():
        assert values.any() == (name != "models.b.lm_score"), name
        assert not np.signbit(values[values == 0]).any()
    without_models = decide(lists, FIRST_PASS).terms(names)
    np.testing.assert_array_equal(sum(without_models.values()), lists.first_pass)


@pytest.mark.parametrize("scale", [math.inf, 1.0])
def test_an_empty_list_stays_empty_and_counts_as_an_empty_hypothesis(scale):
    full = nbest(("a b c", -1.0), ("a b", -2.0), name="u2")
    for lists in ([nbest()], [nbest(), full]):
        losses = PairwiseLosses.build(lists, WER)
        arrays = ScoredLists.build(lists, scored(["a b", "a b c"]), losses=losses)
        decision = decide(arrays, RerankWeights(0.5, 1.0, "mean", scale=scale))
        assert [decision.ranking(i) for i in range(len(lists))] == [[], [0, 1]][: len(lists)]
        assert decision.picks.tolist() == [0] * len(lists)
        statistics = ListStatistics.build(lists, WER)
        assert statistics.value(decision.picks) == 100 * 3 / (3 * len(lists))  # 3 deletions
        assert statistics.oracle().tolist() == [0] * len(lists)
