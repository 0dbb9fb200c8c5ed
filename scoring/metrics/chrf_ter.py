"""chrF2 (0 to 100) and TER (percent) of sacrebleu, with its default settings."""

import numpy as np

from tta.scoring.metrics.bleu import BETA, CHRF, ORDER, TER, OfSacrebleu

_WORD_LENGTH = 5  # characters


class ChrF(OfSacrebleu):
    """The statistics [..., 18] are, for n-grams of 1 to 6 characters, their numbers in the
    hypothesis and in the reference, and the matches. Errors are in words.
    """

    name, higher_is_better, scorer = "chrF", True, CHRF()

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        counts = np.reshape(totals, (*np.shape(totals)[:-1], ORDER, 3))
        there = (counts[..., :2] > 0).all(-1, keepdims=True)
        shares = np.where(there, counts[..., 2:] / np.maximum(counts[..., :2], 1), 0.0).sum(-2)
        precision, recall = np.moveaxis(shares / np.maximum(there.sum(-2), 1), -1, 0)
        weighted = BETA**2 * precision + recall
        return 100 * (1 + BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1.0)

    def errors(self, statistics: np.ndarray) -> np.ndarray:
        return statistics[..., 1] / _WORD_LENGTH * (1 - self.corpus(statistics) / 100)


class Ter(OfSacrebleu):
    """The statistics [..., 2] are edits, and words of the reference, a mean if it is several."""

    name, higher_is_better, scorer = "TER", False, TER()

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        edits, words = np.moveaxis(np.asarray(totals, float), -1, 0)
        return 100 * np.where(words > 0, edits / np.maximum(words, 1e-9), np.minimum(edits, 1))

    def errors(self, statistics: np.ndarray) -> np.ndarray:
        return statistics[..., 0]
