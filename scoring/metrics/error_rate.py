"""Word error rate. The errors of a hypothesis are counted only once."""

from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein

from tta.errors import InputError

SUBSTITUTIONS, INSERTIONS, DELETIONS, REFERENCE_WORDS = range(4)
_COLUMN = {"replace": SUBSTITUTIONS, "insert": INSERTIONS, "delete": DELETIONS}


class WordErrorRate:
    """WER in percent, a `tta.scoring.metrics.metric.Metric`.

    WER = (substitutions + insertions + deletions) / reference words, over a corpus. Words are
    separated by white space and compared unchanged: case and punctuation count.
    """

    name = "WER"
    higher_is_better = False
    signature = "WER|words:whitespace|case:as is"

    def statistics(self, hypotheses: Sequence[str], reference: str) -> np.ndarray:
        """[n, 4] int64: substitutions, insertions, deletions, reference words."""
        words = reference.split()
        counts = np.zeros([len(hypotheses), 4], np.int64)
        counts[:, REFERENCE_WORDS] = len(words)
        for row, hypothesis in zip(counts, hypotheses, strict=True):
            for operation in Levenshtein.editops(words, hypothesis.split()):
                row[_COLUMN[operation.tag]] += 1
        return counts

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """[..., 4] summed statistics -> [...] float64, percent: a ratio of sums, not a mean.

        Raises:
            InputError: the references have no words.
        """
        totals = np.asarray(totals)
        if not np.all(totals[..., REFERENCE_WORDS]):
            raise InputError("the references have no words: the word error rate is not defined")
        return 100.0 * totals[..., :REFERENCE_WORDS].sum(-1) / totals[..., REFERENCE_WORDS]

    def goodness(self, statistics: np.ndarray) -> np.ndarray:
        """[..., 4] -> [...] float64, minus the number of errors.

        The hypotheses of a list share a reference, so the fewest errors give the lowest WER.
        """
        return -statistics[..., :REFERENCE_WORDS].sum(-1).astype(np.float64)

    def details(self, totals: np.ndarray) -> dict[str, float]:
        """The kinds of errors, each in percent of the reference words."""
        rates = 100.0 * totals / totals[REFERENCE_WORDS]
        return {"sub": rates[SUBSTITUTIONS], "ins": rates[INSERTIONS], "del": rates[DELETIONS]}
