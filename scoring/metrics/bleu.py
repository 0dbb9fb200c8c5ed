"""Corpus BLEU, computed by sacrebleu. The n-grams of a hypothesis are matched only once."""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from tta.errors import InputError
from tta.scoring.metrics.metric import BLEU_TOKENIZERS


class Bleu:
    """sacrebleu's corpus BLEU, from 0 to 100; a `tta.scoring.metrics.metric.Metric`.

    `tokenize` is one of `BLEU_TOKENIZERS`; `none` is for text that is already tokenized. An unknown
    one raises InputError.
    """

    name = "BLEU"
    higher_is_better = True
    normalize = str  # texts are compared unchanged

    def __init__(self, tokenize: str):
        if tokenize not in BLEU_TOKENIZERS:
            choices = " or ".join(BLEU_TOKENIZERS)
            raise InputError(f"bleu_tokenize must be {choices}, not {tokenize!r}")
        # The oracle needs a meaningful score of one sentence, hence the effective order. It does
        # not change the counts, and the corpus score is computed without it.
        self._sentence = BLEU(tokenize=tokenize, effective_order=True)
        # sacrebleu writes "nrefs:1" only if it has seen a reference.
        self.signature = f"BLEU|{BLEU(tokenize=tokenize, references=[['-']]).get_signature()}"

    def statistics(self, hypotheses: Sequence[str], reference: str) -> np.ndarray:
        """[n, 10] int64: words, reference words, matched n-grams, all n-grams (orders 1 to 4)."""
        scores = [self._sentence.sentence_score(text, [reference]) for text in hypotheses]
        return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in scores], np.int64)

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """[..., 10] summed statistics -> [...] float64, corpus BLEU by sacrebleu's own formula."""
        return np.apply_along_axis(lambda row: self._score(row).score, -1, totals)

    def goodness(self, statistics: np.ndarray) -> np.ndarray:
        """[..., 10] -> [...] float64, the BLEU of each sentence alone (effective order).

        Corpus BLEU is not a sum over sentences. The oracle, which takes the best hypothesis of each
        list, is therefore a close lower bound of the best possible value.
        """
        return np.apply_along_axis(lambda row: self._score(row, True).score, -1, statistics)

    def details(self, totals: np.ndarray) -> dict[str, float]:
        """The brevity penalty, and words divided by reference words."""
        score = self._score(totals)
        return {"brevity": score.bp, "length": score.ratio}

    @staticmethod
    def _score(row, effective_order=False):
        # The smoothing is sacrebleu's own; the default of compute_bleu is a different one.
        words, reference_words, *ngrams = row.tolist()
        return BLEU.compute_bleu(
            ngrams[:4], ngrams[4:], words, reference_words, "exp", effective_order=effective_order
        )
