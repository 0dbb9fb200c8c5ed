import math
import random

import numpy as np
import pytest

from tta.data.nbest.lists import Hypothesis, NBestList
from tta.errors import InputError
from tta.scoring.combining import scored_lists
from tta.scoring.combining.decision import combine, decide, select
from tta.scoring.combining.scored_lists import ScoredLists, check_widths
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.weights import FIRST_PASS, RerankWeights
from tta.scoring.metrics.error_rate import WordErrorRate

WER = WordErrorRate()


def nbest(*hypotheses, reference="a b c", name="u1"):
    """A list from (text, score) pairs."""
    return NBestList(name, tuple(Hypothesis(*one) for one in hypotheses), reference)


def scored(texts, per_word=-2.0):
    """text -> (sum, number of tokens), with one token a word."""
    return {text: (per_word * len(text.split()), len(text.split())) for text in texts}


def random_lists(seed, count=13, scores=True):
    """Lists of 1 to 7 hypotheses, and scores for their texts; a few hypotheses are empty."""
    random_ = random.Random(seed)
    lists, token_scores = [], {}
    for number in range(count):
        hypotheses = []
        for _ in range(random_.randint(1, 7)):
            words = random_.choices("abcde", k=random_.randint(0, 5))
            text = " ".join(words)
            hypotheses.append((text, random_.uniform(-9, 0) if scores else None))
            tokens = 2 * len(words)  # tokens are not words
            token_scores[text] = (sum(random_.uniform(-7, 0) for _ in range(tokens)), tokens)
        lists.append(nbest(*hypotheses, reference="a b c d", name=f"u{number}"))
    return lists, token_scores


def loop_combined(one, token_scores, weights):
    """The paper's formula and this project's rules, said again without arrays."""
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
        score = (1 - weights.lm_weight) * first_pass + weights.lm_weight * lm
        scores.append(score + weights.length_bonus * len(hypothesis.text.split()))
    return scores


@pytest.mark.parametrize("scores", [True, False])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("lm_weight", [0.0, 0.031, 0.5, 1.0])
@pytest.mark.parametrize("length_bonus", [-0.7, 0.0, 2.3])
def test_combine_and_select_are_a_plain_loop(lm_weight, length_bonus, reduction, scores):
    lists, token_scores = random_lists(seed=5, scores=scores)
    arrays = ScoredLists.build(lists, token_scores)
    weights = RerankWeights(lm_weight, length_bonus, reduction)
    combined, selection = combine(arrays, weights), select(arrays, weights)
    decision = decide(arrays, weights)
    np.testing.assert_array_equal(decision.combined, combined)
    np.testing.assert_array_equal(decision.picks, selection)
    assert combined.shape == (13, max(len(one.hypotheses) for one in lists))
    assert arrays.has_scores == scores
    for i, (row, pick, one) in enumerate(zip(combined, selection, lists, strict=True)):
        expected = loop_combined(one, token_scores, weights)
        assert decision.ranking(i) == sorted(range(len(expected)), key=lambda j: -row[j])
        np.testing.assert_allclose(row[: len(expected)], expected, rtol=1e-13)
        assert np.all(np.isneginf(row[len(expected) :]))
        assert pick == expected.index(max(expected))


def test_absent_hypotheses_are_never_picked():
    # Padding of 0 would be the best score of all.
    lists = [nbest(("a b", -3.0)), nbest(("a b", -3.0), ("a b c", -0.5), name="u2")]
    arrays = ScoredLists.build(lists, scored(["a b", "a b c"]))
    statistics = ListStatistics.build(lists, WER)
    assert select(arrays, RerankWeights(0.5)).tolist() == [0, 1]
    assert statistics.oracle().tolist() == [0, 1]


def test_ties_go_to_the_list_s_order():
    lists = [nbest(("b", -1.0), ("a", -1.0), ("a", -1.0), reference="a")]
    arrays = ScoredLists.build(lists, scored("ab"))
    for weights in (FIRST_PASS, RerankWeights(0.3), RerankWeights(1.0, 0.5, "mean")):
        assert select(arrays, weights).tolist() == [0]
    assert ListStatistics.build(lists, WER).oracle().tolist() == [1]


def test_first_pass_without_scores_is_the_list_s_order():
    lists = [nbest(("a b c d e", None), ("a", None))]
    arrays = ScoredLists.build(lists, scored(["a b c d e", "a"]))
    assert select(arrays, FIRST_PASS).tolist() == [0]
    assert select(arrays, RerankWeights(1.0)).tolist() == [1]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_an_empty_hypothesis_does_not_win_by_having_no_tokens(reduction):
    lists = [nbest(("a b", -2.0), ("", -3.0), ("a b c d", -4.0))]
    arrays = ScoredLists.build(lists, {"a b": (-4.0, 2), "a b c d": (-20.0, 4), "": (0.0, 0)})
    lowest = {"sum": -20.0, "mean": -5.0}[reduction]
    assert arrays.models[0].reduced[reduction][0, 1] == lowest
    for lm_weight in (0.1, 0.5, 1.0):
        assert select(arrays, RerankWeights(lm_weight, 0.0, reduction)).tolist() == [0]


def test_an_empty_hypothesis_wins_by_its_first_pass():
    lists = [nbest(("a b", -9.0), ("", -1.0))]
    arrays = ScoredLists.build(lists, {"a b": (-4.0, 2), "": (0.0, 0)})
    assert select(arrays, RerankWeights(0.5)).tolist() == [1]


def test_an_empty_hypothesis_with_scored_boundary_tokens_keeps_its_score():
    lists = [nbest(("a b", -2.0), ("", -3.0))]
    arrays = ScoredLists.build(lists, {"a b": (-4.0, 4), "": (-3.0, 2)})
    assert arrays.models[0].reduced["sum"].tolist() == [[-4.0, -3.0]]


def test_lists_of_nothing_but_empty_hypotheses():
    arrays = ScoredLists.build([nbest(("", -2.0), ("", -1.0))], {"": (0.0, 0)})
    assert select(arrays, RerankWeights(0.5, 1.0, "mean")).tolist() == [1]
    assert np.all(np.isfinite(combine(arrays, RerankWeights(0.5))))


def test_an_empty_list_stays_empty_and_counts_as_an_empty_hypothesis():
    full = nbest(("a b c", -1.0), ("a b", -2.0), name="u2")
    for lists in ([nbest()], [nbest(), full]):
        arrays = ScoredLists.build(lists, scored(["a b", "a b c"]))
        decision = decide(arrays, RerankWeights(0.5, 1.0, "mean"))
        assert [decision.ranking(i) for i in range(len(lists))] == [[], [0, 1]][: len(lists)]
        assert decision.picks.tolist() == [0] * len(lists)
        statistics = ListStatistics.build(lists, WER)
        assert statistics.value(decision.picks) == 100 * 3 / (3 * len(lists))  # 3 deletions
        assert statistics.oracle().tolist() == [0] * len(lists)


@pytest.mark.parametrize("score", [math.nan, -math.inf])
def test_a_score_that_is_not_finite_is_an_error(score):
    lists = [nbest(("a", -1.0)), nbest(("a", -1.0), ("b c", -1.0), name="u2")]
    with pytest.raises(
        InputError, match=r"list 'u2': .* score of 'b c' must be a finite number, not (nan|-inf)"
    ):
        ScoredLists.build(lists, {"a": (-1.0, 1), "b c": (score, 2)})


def test_oracle_has_the_fewest_errors():
    lists, _ = random_lists(seed=7)
    statistics = ListStatistics.build(lists, WER)
    best = statistics.of(statistics.oracle())[:, :3].sum()
    expected = sum(
        min(WER.statistics([h.text], one.reference)[0, :3].sum() for h in one.hypotheses)
        for one in lists
    )
    assert best == expected


def test_lists_too_uneven_for_memory_are_refused(monkeypatch):
    monkeypatch.setattr(scored_lists, "MAX_PADDED", 100)

    def lists(*widths):
        return [NBestList(f"u{i}", (Hypothesis("a", None),) * n) for i, n in enumerate(widths)]

    check_widths(lists(1, 10, *[1] * 8))
    check_widths(lists(*[50] * 9))  # large, but without padding
    with pytest.raises(InputError, match="list 'u1' has 12 hypotheses, and 10 lists padded"):
        check_widths(lists(1, 12, *[1] * 8))
