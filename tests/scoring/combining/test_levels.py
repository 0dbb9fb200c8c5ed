"""Two levels of models, beside plain twins of what is rescored and of the estimates."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tta
from tests.fake_model import FakeModel
from tests.scoring.combining.random_lists import WER, make
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.errors import InputError
from tta.scoring.combining.guess import guess
from tta.scoring.combining.levels import Levels, estimated
from tta.scoring.combining.part import Part
from tta.scoring.combining.problem import Problem
from tta.scoring.combining.score import Models, score
from tta.scoring.combining.scored_lists import Rescored
from tta.scoring.combining.weights import FixedWeights, RerankWeights
from tta.scoring.scorers.scorer import Scorer


def chosen_by_hand(posteriors, share, best):
    """The indices of one list that are rescored."""
    ranked = sorted(range(len(posteriors)), key=lambda j: (-posteriors[j], j))
    top = max(posteriors, default=0)
    probable = [j for n, j in enumerate(ranked) if n < 3 or posteriors[j] >= share * top]
    return set(probable[:best])


@pytest.mark.parametrize(
    ("share", "best"),
    [
        (0.02, 12),  # the defaults
        (0.0, 3),  # all are probable enough
        (1.0, 12),  # three in any case
        (0.1, 2),  # best counts more than the three
        (0.02, 1),
    ],
)
def test_what_is_rescored_is_chosen_as_by_hand(share, best):
    random = np.random.default_rng(0)
    lengths = [0, 1, 2, 3, 5, 17, 29]
    present = np.arange(29) < np.array(lengths)[:, None]
    posteriors = random.dirichlet(np.full(29, 0.3), len(lengths)).round(2) * present
    chosen = Levels("a", "b", share=share, best=best).chosen(posteriors, present)
    for row, values, length in zip(chosen, posteriors, lengths, strict=True):
        expected = chosen_by_hand(values[:length].tolist(), share, best)
        assert set(np.flatnonzero(row)) == expected


def column_by_hand(first, counts, scored, second, reduction):
    """The scores of one list: `first` and `counts` of the first model, {index: second's}."""
    own = {j: (s if reduction == "sum" else s / n) for j, (s, n) in second.items() if n}
    both = [j for j in own if counts[j]]
    away = sum(own[j] - first[j] for j in both) / max(len(both), 1)
    values = [own.get(j, first[j] + away) for j in range(len(first))]
    judged = [second[j][1] > 0 if j in scored else counts[j] > 0 for j in range(len(first))]
    lowest = min((v for v, known in zip(values, judged, strict=True) if known), default=0.0)
    return [v if known else lowest for v, known in zip(values, judged, strict=True)]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_scores_and_estimates_are_those_of_a_plain_twin(reduction):
    """The second model has twice the tokens, and none of an empty text."""
    made = make(3, models=(1.0, 0.7), empty=True)
    random = np.random.default_rng(1)
    lists = replace(made.lists, models=made.lists.models[:1])
    scored = lists.present & (random.random(lists.present.shape) < 0.4)
    first, second = made.lists.models
    texts = {
        h.text: (float(second.reduced["sum"][i, j]), int(second.num_tokens[i, j]))
        for i, one in enumerate(made.nbest)
        for j, h in enumerate(one.hypotheses)
        if scored[i, j]
    }
    weights = guess(lists, FixedWeights())
    rescored = Rescored(first, weights, scored, "")
    found = estimated(lists, rescored, {**texts, "": (0.0, 0)})
    assert found.rescored is rescored
    assert any(
        scored[i, j] and not h.text
        for i, one in enumerate(made.nbest)
        for j, h in enumerate(one.hypotheses)
    )
    for i, one in enumerate(made.nbest):
        own = {j: texts[h.text] for j, h in enumerate(one.hypotheses) if scored[i, j] and h.text}
        own |= {j: (0.0, 0) for j, h in enumerate(one.hypotheses) if scored[i, j] and not h.text}
        size = len(one.hypotheses)
        before = first.reduced[reduction][i, :size].tolist()
        expected = column_by_hand(before, first.num_tokens[i, :size], set(own), own, reduction)
        assert found.reduced[reduction][i, :size] == pytest.approx(expected)
        counts = [own[j][1] if j in own else 0 for j in range(size)]
        assert found.num_tokens[i, :size].tolist() == counts


def part_of(*lists, reference="a b c"):
    """A part of lists of {text: first-pass score}."""
    nbest = [
        NBestList(str(i), tuple(Hypothesis(t, s) for t, s in one.items()), reference)
        for i, one in enumerate(lists)
    ]
    return Part.build(nbest).compared(WER)


class Table(Scorer):
    """Scores from a table; texts that it was asked for are kept in `asked`."""

    def __init__(self, scores=None):
        self.scores, self.asked = scores or {}, []

    def score_with_counts(self, texts, progress=False):
        self.asked += texts
        found = [self.scores.get(text, 0.0) for text in texts]
        return np.array(found), np.array([len(text.split()) for text in texts])


def score_in_levels(part, levels, first_level=None, is_tuned=False, **fixed):
    """The part with the scores of two levels; `first_level` are the weights of the first one."""
    fixed = FixedWeights(first_level=first_level, **fixed)
    return score(Problem((part,), is_tuned), Models((levels,)), fixed)


def test_the_second_model_scores_what_the_first_level_s_weights_choose_once():
    """Whether these are the first's weights matters: with others, other texts are rescored."""
    texts = {f"w{j} x": -float(j) for j in range(19)}
    part = part_of(texts, {**{f"w{j} x": -float(j) for j in range(2)}}, {})
    second = Table()
    weights = RerankWeights(0.0, scale=0.7)  # e^(-0.7 * 5) is above 0.02, e^(-0.7 * 6) is not
    scored = score_in_levels(part, Levels(Table(), second), weights)
    found = scored.problem.test
    assert second.asked == [f"w{j} x" for j in range(6)]
    assert scored.lm is second
    assert found.lists.rescored is not None
    assert found.lists.rescored.scored.sum(axis=1).tolist() == [6, 2, 0]
    sharper = Table()
    score_in_levels(part, Levels(Table(), sharper), replace(weights, scale=1.4))
    assert sharper.asked == ["w0 x", "w1 x", "w2 x"]


def test_dev_lists_are_rescored_by_the_weights_that_are_tuned_on_them():
    lists = [["the cat sat", "the kat sat", "a cat zat", "a mat", "the dock sat", "x"], ["a dog"]]
    scores, references = [[-1.0, -1.1, -2.0, -3.0, -9.0, -12.0], [-1.0]], ["the cat sat", "a dog"]
    first, second = FakeModel("known"), FakeModel("length")
    found = tta.tune(lists, references, scores, tta.Levels(first, second))
    alone = tta.tune(lists, references, scores, first)
    assert found.first_level == alone
    assert replace(found, first_level=None) != alone
    assert set(second.scored) < {text for one in lists for text in one}

    seen = list(second.scored)
    answers = tta.rerank(lists, scores, tta.Levels(first, second), weights=found)
    assert second.scored == seen * 2
    assert [one.weights for one in answers] == [found, found]
    for one in answers:
        kept = [text for text, own in zip(one.texts, one.rescored, strict=True) if own]
        assert set(kept) <= set(seen)
    sharp = replace(found, first_level=replace(alone, scale=100.0))
    fewer = tta.rerank(lists, scores, tta.Levels(first, second), weights=sharp)
    assert sum(fewer[0].rescored) == 3 < sum(answers[0].rescored)


def test_without_losses_the_posteriors_have_a_guessed_scale():
    """As for lists that are too long to compare, whose decision is max."""
    made = make(5)
    part = Part(replace(made.lists, losses=None, models=()), statistics=made.statistics)
    second = Table()
    levels = Levels(Table(), second)
    found = score_in_levels(part, levels, is_tuned=True, decision="max").problem.test
    assert 0 < len(second.asked) < len(set(part.texts))
    assert found.lists.rescored.weights.decision == "max"
    assert (found.lists.rescored.scored.sum(axis=1) > 1).any()


def test_levels_of_one_list_and_of_none():
    levels = tta.Levels(FakeModel("known"), FakeModel("length"))
    one = tta.rerank(["the kat", "the cat"], [-1.0, -1.5], levels)
    assert one.rescored == [True, True]
    assert one.lm_scores == [-6.0, -6.0]
    assert tta.rerank([], [], levels) == []
    assert tta.rerank([[], []], None, levels)[0].texts == []
    words = tta.confidence(["the kat", "the cat"], [-1.0, -1.5], levels)
    assert next(one.word for one in words) == "the"
    assert tta.rerank(["the cat"], [-1.0], FakeModel()).rescored is None


WEIGHTS = RerankWeights(0.5, first_level=RerankWeights(0.5))


@pytest.mark.parametrize(
    ("call", "rule"),
    [
        (lambda: tta.Levels("small", None), "both levels are the same model, 'small'"),
        (lambda: tta.rerank(["x"], model=tta.Levels(tta.Levels("a", "b"), "c")), "a, b: levels"),
        (lambda: tta.Levels("a", "b", share=1.5), "share must be between 0 and 1, not 1.5"),
        (lambda: tta.Levels("a", "b", share=math.nan), "share must be between"),
        (lambda: tta.Levels("a", "b", best=0), "best must be a whole number from 1, not 0"),
        (lambda: tta.Levels("a", "b", best=2.5), "best must be a whole number"),
        (lambda: tta.Levels("a", "b").score(["x"]), "a, b: levels score lists"),
        (lambda: tta.Levels("a", "b").encode(["x"]), "a, b: levels score lists"),
        (lambda: tta.rerank(["x"], model=[tta.Levels("a", "b"), "c"]), "levels rerank alone"),
        (
            lambda: tta.rerank(["x"], model=FakeModel(), weights=WEIGHTS),
            "the weights are those of two levels: they need a tta.Levels",
        ),
    ],
)
def test_levels_go_where_lists_are_reranked(call, rule):
    with pytest.raises(InputError, match=rule):
        call()
