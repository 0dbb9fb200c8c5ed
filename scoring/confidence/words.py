"""The confidence of every word of the picks, and the errors that are expected of a file."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tta.data.nbest.lists import shown
from tta.scoring.combining.decision import Decision
from tta.scoring.confidence.evidence import WordEvidence, find_evidence
from tta.scoring.confidence.weights import (
    DEFAULT_SETS,
    ConfidenceWeights,
    default_weights,
    fit_weights,
)
from tta.scoring.metrics.metric import Metric
from tta.scoring.scorers.scorer import Scorer


@dataclass(frozen=True)
class WordConfidence:
    """How sure a word is.

    Attributes:
        word: as it is written; in scripts without blanks, a character.
        probability: P(the word is correct), 0 to 1.
        rival: the best of what other hypotheses have in its place, "" for no word; None if all
            have the word.
        rival_probability: the posterior of the hypotheses that have the rival, 0 to 1.
    """

    word: str
    probability: float
    rival: str | None
    rival_probability: float

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold."""
        return asdict(self)


@dataclass(frozen=True)
class Confidences:
    """The confidences of the picks of L lists.

    Attributes:
        words: L lists of `WordConfidence`.
        errors: [L] float64, the expected number of word errors of each pick: of its words, and of
            words that it lacks.
        lengths: [L] float64, the expected number of words of each reference.
        name: of the error rate: "WER", or "CER" if characters are words.
    """

    words: list[list[WordConfidence]]
    errors: np.ndarray
    lengths: np.ndarray
    name: str

    @property
    def expected(self) -> float:
        """The expected error rate in percent; NaN if no words are expected."""
        total = float(self.lengths.sum())
        return 100 * float(self.errors.sum()) / total if total else float("nan")


def confidences_of(evidence: WordEvidence, weights: ConfidenceWeights | None = None) -> Confidences:
    """The confidences of words whose evidence was found; without weights, by the default ones."""
    weights = weights or default_weights(evidence.has_model)
    probabilities = weights.probabilities(evidence)
    rows = zip(probabilities, evidence.rivals, evidence.rival_masses, strict=True)
    words = [
        [WordConfidence(word, float(p), rival, float(mass)) for word, (p, rival, mass) in
         zip(one, rows, strict=False)]
        for one in evidence.words
    ]  # fmt: skip
    count = len(evidence.words)
    errors = np.bincount(evidence.owners, 1 - probabilities, count)
    errors += weights.deletions * evidence.missing
    return Confidences(words, errors, evidence.lengths, "CER" if evidence.by_character else "WER")


def fit_on(decision: Decision, metric: Metric, lm: Scorer | None) -> ConfidenceWeights:
    """Fits weights on the picks of lists with references; see `fit_weights`."""
    evidence = find_evidence(decision, metric, lm)
    references = [one.reference or "" for one in decision.lists.nbest]
    return fit_weights(evidence, *evidence.judge(references, metric))


def confidence_notes(decision: Decision, has_model: bool, is_default: bool) -> Iterator[str]:
    """Yields what a reader of confidences must know, one line each."""
    if is_default:
        yield (
            f"confidences by default weights, fitted on {DEFAULT_SETS}; with dev lists they are "
            "fitted there"
        )
    single = [one.utterance_id for one in decision.lists.nbest if len(one.hypotheses) == 1]
    if single:
        known = "the model's scores alone give" if has_model else "without a model nothing gives"
        yield (
            f"lists of one hypothesis: {len(single):,}, first {shown(single[0])}; {known} the "
            "confidences of their words"
        )
