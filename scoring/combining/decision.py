"""From scores to the order of each list: the only place where reranking decides.

Hypotheses with equal scores keep their order in the list, so every decision is reproducible.
"""

from dataclasses import dataclass

import numpy as np

from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.weights import RerankWeights


@dataclass(frozen=True)
class Decision:
    """The order of the hypotheses of each list, and the scores and weights that it follows from.

    Attributes:
        lm_scores: [L, N] float64, the sum of the models' scores, each times its share.
        combined: [L, N] float64, natural log; -inf at padding.
        order: [L, N] int64, the indices of the hypotheses, best first; padding last.
    """

    lists: ScoredLists
    weights: RerankWeights
    lm_scores: np.ndarray
    combined: np.ndarray
    order: np.ndarray

    @property
    def picks(self) -> np.ndarray:
        """The index of the best hypothesis of each list: [L] int64."""
        return self.order[:, 0]

    def ranking(self, number: int) -> list[int]:
        """The indices of the hypotheses of one list, best first."""
        return self.order[number, : len(self.lists.nbest[number].hypotheses)].tolist()


def decide(lists: ScoredLists, weights: RerankWeights) -> Decision:
    """Orders the hypotheses of each list by combined score, highest first."""
    lm_scores = lists.mix(weights.shares, weights.reduction)
    combined = combine(lists, weights)
    order = np.argsort(-combined, axis=1, kind="stable")
    return Decision(lists, weights, lm_scores, combined, order)


def pick(combined: np.ndarray) -> np.ndarray:
    """The picks of `decide`, without the rest of the order: [L, N] -> [L] int64."""
    return combined.argmax(axis=1)


def select(lists: ScoredLists, weights: RerankWeights) -> np.ndarray:
    """The index of the best hypothesis of each list: [L] int64."""
    return pick(combine(lists, weights))


def combine(lists: ScoredLists, weights: RerankWeights) -> np.ndarray:
    """Combines the scores of each hypothesis: [L, N] float64, natural log; -inf at padding."""
    # FIRST_PASS has one share for any number of models. Its lm_weight is 0, so none is used.
    lm = lists.mix(weights.shares, weights.reduction) if weights.lm_weight else 0.0
    return add_bonus(lists, interpolate(lists, lm, weights.lm_weight), weights.length_bonus)


def interpolate(lists: ScoredLists, lm: np.ndarray | float, lm_weight: float) -> np.ndarray:
    """(1 - lm_weight) * first_pass + lm_weight * lm: [L, N] float64."""
    return (1 - lm_weight) * lists.first_pass + lm_weight * lm


def add_bonus(lists: ScoredLists, scores: np.ndarray, length_bonus: float) -> np.ndarray:
    """Adds the bonus per word to [L, N] scores, and sets padding to -inf."""
    return np.where(lists.present, scores + length_bonus * lists.num_words, -np.inf)
