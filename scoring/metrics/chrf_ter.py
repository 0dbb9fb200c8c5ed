"""chrF and TER, computed by sacrebleu; of its default settings."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tta.scoring.metrics.bleu import BETA, CHRF, ORDER, TER, PairwiseChrf

_WORD_LENGTH = 5  # characters


class _OfSacrebleu(PairwiseChrf):
    """What both have in common: sacrebleu's statistics of a segment. The loss is 1 - chrF."""

    scorer: Any

    def __init__(self):
        signed = type(self.scorer)(references=[["-"]])  # it counts them
        self.signature = f"{self.name}|{signed.get_signature()}"

    def statistics(self, hypotheses: Sequence[str], reference: str, *more: str) -> np.ndarray:
        """[n, S] float64; the columns are those of the class."""
        if more:
            self.signature = self.signature.replace("nrefs:1", "nrefs:var")
        references = [[one] * len(hypotheses) for one in (reference, *more)]
        return np.array(self.scorer._extract_corpus_statistics(hypotheses, references), float)

    def details(self, totals: np.ndarray) -> dict[str, float]:
        return {}


class ChrF(_OfSacrebleu):
    """chrF2, from 0 to 100; a `tta.scoring.metrics.metric.Metric`.

    The 18 statistics are, for n-grams of 1 to 6 characters, their numbers in the hypothesis and in
    the reference, and the matches.
    """

    name, higher_is_better, scorer = "chrF", True, CHRF()

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """[..., 18] summed statistics -> [...] float64."""
        counts = np.asarray(totals, np.float64).reshape(*np.shape(totals)[:-1], ORDER, 3)
        there = (counts[..., :2] > 0).all(-1, keepdims=True)
        shares = np.where(there, counts[..., 2:] / np.maximum(counts[..., :2], 1), 0.0).sum(-2)
        precision, recall = np.moveaxis(shares / np.maximum(there.sum(-2), 1), -1, 0)
        weighted = BETA**2 * precision + recall
        product = (1 + BETA**2) * precision * recall
        return 100 * product / np.where(weighted > 0, weighted, 1.0)

    def errors(self, statistics: np.ndarray) -> np.ndarray:
        """[..., 18] -> [...] float64, words of the reference times 1 - chrF / 100."""
        return statistics[..., 1] / _WORD_LENGTH * (1 - self.corpus(statistics) / 100)


class Ter(_OfSacrebleu):
    """Translation edit rate in percent, with shifts; a `tta.scoring.metrics.metric.Metric`.

    The statistics are the edits, and the words of the reference, the mean if there are several.
    """

    name, higher_is_better, scorer = "TER", False, TER()

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """[..., 2] summed statistics -> [...] float64; as sacrebleu 100 if no words have edits."""
        edits, words = np.moveaxis(np.asarray(totals, np.float64), -1, 0)
        return 100 * np.where(words > 0, edits / np.maximum(words, 1e-9), np.minimum(edits, 1))

    def errors(self, statistics: np.ndarray) -> np.ndarray:
        """[..., 2] -> [...] float64, the edits."""
        return statistics[..., 0]
