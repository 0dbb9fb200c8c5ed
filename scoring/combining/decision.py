"""From scores to the order of each list: the only place where reranking decides.

Hypotheses that are equally good keep their order in the list, so every decision is reproducible.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tta.scoring.combining.guess import guess
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.weights import (
    FIRST_PASS_SCORE,
    NUM_WORDS,
    FixedWeights,
    RerankWeights,
    feature_column,
    model_columns,
)
from tta.scoring.metrics.risk import posteriors


@dataclass(frozen=True)
class Decision:
    """The order of the hypotheses of each list, and the scores and weights that it follows from.

    Attributes:
        paid_words: [L, N] int64, the words of each hypothesis for which the length bonus is paid.
        lm_scores: [L, N] float64, the sum of the models' scores, each times its share.
        combined: [L, N] float64, natural log; -inf at padding.
        posteriors: [L, N] float64, the probability of each hypothesis, 0 to 1. With the decision
            `max`, the best one has 1.
        expected_losses: [L, N] float64, in the unit of the metric's `losses`: word errors, or
            1 - chrF. None for the decision `max`.
    """

    lists: ScoredLists
    weights: RerankWeights
    paid_words: np.ndarray
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

    def terms(self, model_names: Sequence[str]) -> dict[str, np.ndarray]:
        """What each column adds to the combined scores: {column: [L, N] float64, natural log}.

        The terms of a hypothesis sum to its combined score, up to rounding; they are 0 at padding.
        The columns are those of `RerankWeights.by_column`; `model_names` are the K names of the
        models.
        """
        lists, weights = self.lists, self.weights
        scores = [model.reduced[weights.reduction] for model in lists.models]
        columns = {
            FIRST_PASS_SCORE: lists.first_pass,
            **dict(zip(model_columns(model_names), scores, strict=True)),
            NUM_WORDS: self.paid_words,
            **{feature_column(name): lists.feature(name) for name in weights.features},
        }
        return {
            name: np.where(lists.present, weight * columns[name], 0.0) + 0.0  # no -0.0
            for name, weight in weights.by_column(model_names).items()
        }

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
    if not loses_both.any():
        return decision
    paid_words = np.where(loses_both[:, None], 0, lists.num_words)
    return decide_by(lists, weights, paid_words)


def decide_by(
    lists: ScoredLists, weights: RerankWeights, paid_words: np.ndarray | None = None
) -> Decision:
    """The combined scores of all hypotheses, and what follows from them, bonus included.

    A combined score is (1 - w) * (first pass + features) + w * language models + bonus * words.
    `paid_words`, [L, N] int64, are the words that count; None for all.
    """
    if paid_words is None:
        paid_words = lists.num_words
    lm_scores = lists.mix(weights.shares, weights.reduction)
    features = (weight * lists.feature(name) for name, weight in weights.features.items())
    first_pass = sum(features, start=lists.first_pass)
    combined = (1 - weights.lm_weight) * first_pass + weights.lm_weight * lm_scores
    combined = np.where(lists.present, combined + weights.length_bonus * paid_words, -np.inf)
    if weights.decision == "max":
        best = np.arange(combined.shape[1]) == combined.argmax(axis=1, keepdims=True)
        best = (best & lists.present).astype(np.float64)
        return Decision(
            lists=lists,
            weights=weights,
            paid_words=paid_words,
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
        paid_words=paid_words,
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
