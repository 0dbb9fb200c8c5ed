"""From scores to the order of each list: the only place where reranking decides.

Hypotheses that are equally good keep their order in the list, so every decision is reproducible.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tta.scoring.combining.guess import guess
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.weights import FixedWeights, RerankWeights
from tta.scoring.metrics.risk import posteriors


@dataclass(frozen=True)
class Decision:
    """The order of the hypotheses of each list, and the scores and weights that it follows from.

    Attributes:
        lm_scores: [L, N] float64, the sum of the models' scores, each times its share.
        combined: [L, N] float64, natural log; -inf at padding.
        posteriors: [L, N] float64, the probability of each hypothesis, 0 to 1. With the decision
            `max`, the best one has 1.
        expected_losses: [L, N] float64, in the unit of the metric's `losses`: word errors, or
            1 - chrF. None for the decision `max`.
    """

    lists: ScoredLists
    weights: RerankWeights
    lm_scores: np.ndarray
    combined: np.ndarray
    posteriors: np.ndarray
    expected_losses: np.ndarray | None

    @cached_property
    def order(self) -> np.ndarray:
        """The indices of the hypotheses, best first, padding last: [L, N] int64."""
        return np.lexsort((-self.combined, -self.goodness), axis=1)

    @property
    def picks(self) -> np.ndarray:
        """The first of the order, for which nothing is sorted: [L] int64."""
        best = self.goodness == self.goodness.max(axis=1, keepdims=True)
        return np.where(best, self.combined, -np.inf).argmax(axis=1)

    @cached_property
    def goodness(self) -> np.ndarray:
        """What the order follows, highest first: [L, N] float64; -inf at padding.

        The combined score, or minus the expected loss.
        """
        if self.expected_losses is None:
            return self.combined
        return np.where(self.lists.present, -self.expected_losses, -np.inf)

    def ranking(self, number: int) -> list[int]:
        """The indices of the hypotheses of one list, best first."""
        return self.order[number, : len(self.lists.nbest[number].hypotheses)].tolist()


def decide(lists: ScoredLists, weights: RerankWeights) -> Decision:
    """Orders the hypotheses of each list, best first.

    With a finite scale, the lowest expected loss comes first (minimum Bayes risk), and among equal
    ones the highest combined score. With an infinite scale, the highest combined score comes first.

    A length bonus that was guessed is left out of lists where it would move a hypothesis to the
    top in place of one that both first pass and language models prefer.
    """
    decision = decide_by(lists, weights)
    if not (weights.bonus_is_guessed and weights.length_bonus):
        return decision
    without_bonus = decide_by(lists, replace(weights, length_bonus=0.0))
    rows = np.arange(len(lists.nbest))
    loses_both = np.ones(len(rows), bool)  # the pick with the bonus, beside that without
    for scores in (lists.first_pass, without_bonus.lm_scores):
        loses_both &= scores[rows, without_bonus.picks] > scores[rows, decision.picks]
    # In these lists, no word pays a bonus.
    num_words = np.where(loses_both[:, None], 0, lists.num_words)
    decision = decide_by(replace(lists, num_words=num_words), weights)
    return replace(decision, lists=lists)


def decide_by(lists: ScoredLists, weights: RerankWeights) -> Decision:
    """The combined scores of all hypotheses, and what follows from them, bonus included.

    A combined score is (1 - w) * (first pass + features) + w * language models + bonus * words.
    """
    lm_scores = lists.mix(weights.shares, weights.reduction)
    features = (weight * lists.feature(name) for name, weight in weights.features.items())
    first_pass = sum(features, start=lists.first_pass)
    combined = (1 - weights.lm_weight) * first_pass + weights.lm_weight * lm_scores
    combined = np.where(lists.present, combined + weights.length_bonus * lists.num_words, -np.inf)
    if weights.decision == "max":
        best = np.arange(combined.shape[1]) == combined.argmax(axis=1, keepdims=True)
        best = (best & lists.present).astype(np.float64)
        return Decision(
            lists=lists,
            weights=weights,
            lm_scores=lm_scores,
            combined=combined,
            posteriors=best,
            expected_losses=None,
        )
    assert lists.losses is not None
    highest = np.where(np.isfinite(combined[:, :1]), combined.max(axis=1, keepdims=True), 0.0)
    shifted = np.where(lists.present, combined, highest) - highest  # only differences matter
    with np.errstate(over="ignore"):
        probabilities = posteriors(lists.present, weights.scale * shifted)
    # Rounding keeps the order of equal texts, whose sums may differ in their last digits.
    expected = lists.losses.expected(probabilities).round(6)
    return Decision(
        lists=lists,
        weights=weights,
        lm_scores=lm_scores,
        combined=combined,
        posteriors=probabilities,
        expected_losses=expected,
    )


def posteriors_of(decision: Decision) -> np.ndarray:
    """The posteriors of a decision, [L, N] float64; those of `max` with a scale that is guessed."""
    weights, lists = decision.weights, decision.lists
    if weights.decision == "mbr":
        return decision.posteriors
    fixed = FixedWeights(
        lm_weight=weights.lm_weight,
        length_bonus=0.0,
        reduction=weights.reduction,
        shares=weights.shares,
        decision="mbr",
        features=dict(weights.features),
    )
    return posteriors(lists.present, guess(lists, fixed).scale * decision.combined)


def select(lists: ScoredLists, weights: RerankWeights) -> np.ndarray:
    """The index of the best hypothesis of each list: [L] int64."""
    return decide(lists, weights).picks
