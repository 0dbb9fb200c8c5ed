"""Word error rate: the errors of every hypothesis are counted once, any selection is a sum."""

import numpy as np
from rapidfuzz.distance import Levenshtein

from tta.errors import InputError

SUBSTITUTIONS, INSERTIONS, DELETIONS, REFERENCE_WORDS = range(4)
_COLUMN = {"replace": SUBSTITUTIONS, "insert": INSERTIONS, "delete": DELETIONS}


class WordErrorRate:
    """WER in percent: (substitutions + insertions + deletions) / reference words, over a corpus.

    Words are what white space separates, as they stand: case and punctuation count.

    A metric is what `tta.scoring.combining.scored_lists` asks of it: `statistics` once per list, whose sums over
    lists `corpus` turns into the corpus's value, and `goodness`, which ranks one list's hypotheses
    for the oracle. `tta.scoring.metrics.bleu.Bleu` has the same face.
    """

    name = "WER"
    higher_is_better = False
    signature = "WER|words:whitespace|case:as is"

    def statistics(self, hypotheses, reference):
        """Counts the errors of each hypothesis against one reference.

        Args:
            hypotheses: n texts.
            reference: the text that was said.

        Returns:
            [n, 4] int64: substitutions, insertions, deletions, reference words.
        """
        words = reference.split()
        counts = np.zeros([len(hypotheses), 4], np.int64)
        counts[:, REFERENCE_WORDS] = len(words)
        for row, hypothesis in zip(counts, hypotheses, strict=True):
            for operation in Levenshtein.editops(words, hypothesis.split()):
                row[_COLUMN[operation.tag]] += 1
        return counts

    def corpus(self, totals):
        """The error rate of a corpus, from its summed statistics.

        Args:
            totals: [..., 4], sums of `statistics`.

        Returns:
            [...] float64, percent; a ratio of sums, not a mean of ratios.

        Raises:
            InputError: the references hold no word.
        """
        totals = np.asarray(totals)
        if not np.all(totals[..., REFERENCE_WORDS]):
            raise InputError("the references hold no word: there is no word error rate")
        return 100.0 * totals[..., :REFERENCE_WORDS].sum(-1) / totals[..., REFERENCE_WORDS]

    def goodness(self, statistics):
        """[..., 4] -> [...] float64: minus the number of errors, so that more is better.

        One list has one reference, so the fewest errors in every list are the fewest in all.
        """
        return -statistics[..., :REFERENCE_WORDS].sum(-1).astype(np.float64)

    def details(self, totals):
        """The parts of the error rate to print beside it, percent of the reference words."""
        rates = 100.0 * totals / totals[REFERENCE_WORDS]
        return {"sub": rates[SUBSTITUTIONS], "ins": rates[INSERTIONS], "del": rates[DELETIONS]}
