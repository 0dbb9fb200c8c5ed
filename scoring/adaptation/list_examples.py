"""Chooses the lists and hypotheses that a model is fine-tuned on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tta.scoring.combining.decision import decide
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.weights import RerankWeights

# As in the experiment of docs/adaptation.md.
NUM_PROBABLE = 6  # hypotheses of each list, and the one with the fewest errors


@dataclass(frozen=True)
class Example:
    """A list to train on, with H hypotheses.

    Attributes:
        texts: H hypotheses.
        other_scores, errors: [H] float32, as in `ExpectedErrors`.
        token_weights: [H] float32, the weight of each token's score in the combined score.
    """

    texts: Sequence[str]
    other_scores: np.ndarray
    errors: np.ndarray
    token_weights: np.ndarray


def make_examples(
    scored: ScoredLists, statistics: ListStatistics, weights: RerankWeights
) -> list[Example]:
    """The lists to train on: those whose hypotheses have different numbers of word errors.

    Each has its `NUM_PROBABLE` most probable hypotheses. The one with the fewest errors is added if
    it is better than these.
    """
    decision = decide(scored, weights)
    counts = scored.models[0].num_tokens
    # Hypotheses without tokens have the lowest score of their list, which no weight can change.
    part = np.where(counts > 0, weights.lm_weight * decision.lm_scores, 0.0)
    others = weights.scale * (decision.combined - part)
    token_weights = np.full(counts.shape, weights.scale * weights.lm_weight)
    if weights.reduction == "mean":
        token_weights /= np.maximum(counts, 1)
    errors = word_errors(statistics)
    examples = []
    for i, one in enumerate(scored.nbest):
        size = len(one.hypotheses)
        if not size:
            continue
        keep = list(np.argsort(-decision.combined[i, :size], kind="stable")[:NUM_PROBABLE])
        best = errors[i, :size].argmin()
        if errors[i, best] < errors[i, keep].min():
            keep.append(best)
        if differ(errors[i, keep]):
            texts = [one.hypotheses[j].text for j in keep]
            rows = (array[i, keep].astype(np.float32) for array in (others, errors, token_weights))
            examples.append(Example(texts, *rows))
    return examples


def word_errors(statistics: ListStatistics) -> np.ndarray:
    """The number of word errors of every hypothesis: [L, N] float64; 0 at padding."""
    return np.where(statistics.present, statistics.errors, 0.0)


def differ(errors: np.ndarray) -> bool:
    """Whether the hypotheses of a list, [H] numbers of errors, differ in them."""
    return len(errors) > 0 and bool(np.ptp(errors) > 0)
