import math
import tracemalloc

import numpy as np
import pytest

from tests.scoring.combining.random_lists import WER, make
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.errors import InputError
from tta.scoring.combining.decision import decide
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics import risk
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.risk import PairwiseLosses, posteriors

BLEU = Bleu("none")


@pytest.mark.parametrize("metric", [WER, BLEU], ids=lambda metric: metric.name)
@pytest.mark.parametrize("block", [1, 150, 1_000_000])
def test_expected_losses_are_a_plain_loop(metric, block, monkeypatch):
    monkeypatch.setattr(risk, "_BLOCK_PAIRS", block)
    made = make(1, count=17, empty=True)
    losses = PairwiseLosses.build(made.nbest, metric)
    rows = np.concatenate([rows for rows, _ in losses.blocks])
    assert sorted(rows) == [i for i, one in enumerate(made.nbest) if one.hypotheses]
    assert (len(losses.blocks) > 1) == (block < 1_000_000)

    present = made.lists.present
    p = np.where(present, np.random.default_rng(0).random(present.shape), 0.0)
    values = losses.expected(p)
    assert values.shape == p.shape
    for i, one in enumerate(made.nbest):
        texts = [h.text for h in one.hypotheses]
        for j, of_text in enumerate(metric.losses(texts)):
            expected = sum(p[i, k] * loss for k, loss in enumerate(of_text))
            np.testing.assert_allclose(values[i, j], expected, rtol=1e-5, atol=1e-6)
        assert not values[i, len(texts) :].any()


def test_posteriors_are_a_softmax_of_each_list():
    made = make(2, count=13, empty=True)
    present = made.lists.present
    random = np.random.default_rng(0)
    scores = random.normal(0, 3, present.shape)
    scores[4] += 1e6  # a constant of a list changes nothing
    scores[5, 1] += 1e5  # one hypothesis is certain
    p = posteriors(present, scores)
    for i, one in enumerate(made.nbest):
        n = len(one.hypotheses)
        highest = max(scores[i, :n], default=0)
        odds = [math.exp(score - highest) for score in scores[i, :n]]
        np.testing.assert_allclose(p[i, :n], np.array(odds) / (sum(odds) or 1))
        assert not p[i, n:].any()
    assert p[5, 1] == 1


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr(risk, "MAX_PAIRS", 5**2 + 7**2)
    nbest = [NBestList(f"u{n}", (Hypothesis("a", None),) * n) for n in (5, 7)]
    PairwiseLosses.build(nbest, WER)
    nbest.append(NBestList("u1", (Hypothesis("a", None),)))
    with pytest.raises(
        InputError,
        match=r"75 pairs do not fit into memory \(list 'u7' has 7 hypotheses\): shorten .*'max'",
    ):
        PairwiseLosses.build(nbest, WER)


@pytest.mark.parametrize("metric", [WER, BLEU], ids=lambda metric: metric.name)
def test_a_list_of_1000_hypotheses_needs_less_than_200_mb(metric):
    random = np.random.default_rng(3)
    reference = random.integers(0, 5000, 20).astype(str)
    wrong = random.random([1000, 20]) < 0.15
    texts = np.where(wrong, random.integers(0, 5000, [1000, 20]).astype(str), reference)
    hypotheses = (Hypothesis(" ".join(words), -float(i)) for i, words in enumerate(texts))
    nbest = [NBestList("u1", tuple(hypotheses))]
    tracemalloc.start()
    try:
        lists = ScoredLists.build(nbest, losses=PairwiseLosses.build(nbest, metric))
        order = decide(lists, RerankWeights(0.0, shares=(), scale=0.1)).order
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sorted(order[0]) == list(range(1000))
    assert 4e6 < peak < 200e6  # the losses alone are 4 MB
