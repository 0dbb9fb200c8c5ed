"""Judges the words of the picks: how sure each is."""

from dataclasses import dataclass

from tta.notes import Note
from tta.scoring.combining.confidence import (
    Confidences,
    ConfidenceWeights,
    confidence_notes,
    confidences_of,
    default_weights,
)
from tta.scoring.combining.decision import Decision
from tta.scoring.combining.word_evidence import find_evidence
from tta.scoring.metrics.metric import Metric
from tta.scoring.scorers.scorer import Scorer


@dataclass(frozen=True)
class JudgedWords:
    """How sure the words of the picks of L lists are.

    Attributes:
        confidences: of the words.
        weights: by which they were found.
        notes: what a reader must know of them.
    """

    confidences: Confidences
    weights: ConfidenceWeights
    notes: tuple[Note, ...]

    @property
    def signature(self) -> str:
        """What the confidences depend on besides the signature of the decision."""
        items = (f"{name}={weight:.6g}" for name, weight in self.weights.items())
        return f"confidence_weights:{','.join(items)}"


def judge_words(
    decision: Decision,
    metric: Metric,
    lm: Scorer | None,
    weights: ConfidenceWeights | None = None,
    progress: bool = False,
) -> JudgedWords:
    """Judges the words of the picks of a decision.

    Args:
        decision: has the picks.
        metric: says how words are compared.
        lm: a model whose token scores count, if it has some.
        weights: None for the default weights.
        progress: whether to show a progress bar on standard error.

    Raises:
        InputError: the weights need a model with token scores, and there is none.
    """
    evidence = find_evidence(decision, metric, lm, progress=progress)
    notes = tuple(confidence_notes(decision, evidence.has_model, is_default=weights is None))
    weights = weights or default_weights(evidence.has_model)
    return JudgedWords(confidences_of(evidence, weights), weights, notes)
