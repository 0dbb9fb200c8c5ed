"""Corpus BLEU by sacrebleu: n-grams are matched once per hypothesis, any selection is a sum."""

import numpy as np
from sacrebleu.metrics import BLEU

from tta.errors import InputError

TOKENIZERS = ("13a", "none", "intl", "char", "zh")  # those that need no further package
_ORDER = 4
_COUNTS = slice(2, 2 + _ORDER)
_TOTALS = slice(2 + _ORDER, None)


class Bleu:
    """sacrebleu's corpus BLEU (0 to 100), with the face of `error_rate.WordErrorRate`.

    Args:
        tokenize: sacrebleu's tokenizer, one of `TOKENIZERS`. `none` takes the words as they stand,
            which is right for text that is already tokenised.

    Raises:
        InputError: the tokenizer is not one of `TOKENIZERS`.
    """

    name = "BLEU"
    higher_is_better = True

    def __init__(self, tokenize="13a"):
        if tokenize not in TOKENIZERS:
            raise InputError(f"bleu_tokenize is one of {', '.join(TOKENIZERS)}, not {tokenize!r}")
        # Effective order makes the score of one sentence meaningful (the oracle needs that); the
        # counts are the same without it, and the corpus score is computed without it.
        self._sentence = BLEU(tokenize=tokenize, effective_order=True)
        # A reference in the constructor is what settles the signature's "nrefs".
        self.signature = f"BLEU|{BLEU(tokenize=tokenize, references=[['-']]).get_signature()}"

    def statistics(self, hypotheses, reference):
        """Counts the n-grams of each hypothesis that the reference has too.

        Args:
            hypotheses: n texts.
            reference: the one reference translation.

        Returns:
            [n, 10] int64: words, reference words, matched n-grams and n-grams of orders 1 to 4.
        """
        scores = [self._sentence.sentence_score(text, [reference]) for text in hypotheses]
        return np.array([[s.sys_len, s.ref_len, *s.counts, *s.totals] for s in scores], np.int64)

    def corpus(self, totals):
        """[..., 10] summed statistics -> [...] float64: corpus BLEU, sacrebleu's own formula."""
        totals = np.asarray(totals)
        scores = [self._score(row).score for row in totals.reshape(-1, totals.shape[-1])]
        return np.array(scores).reshape(totals.shape[:-1])[()]

    def goodness(self, statistics):
        """[..., 10] -> [...] float64: the BLEU of each sentence alone (effective order).

        BLEU does not add up over sentences, so an oracle that takes each list's best is a close
        lower bound of the best that the lists allow.
        """
        flat = statistics.reshape(-1, statistics.shape[-1])
        scores = [self._score(row, effective_order=True).score for row in flat]
        return np.array(scores, np.float64).reshape(statistics.shape[:-1])

    def details(self, totals):
        """What to print beside BLEU: brevity penalty, and words over reference words."""
        score = self._score(totals)
        return {"brevity": score.bp, "length": score.ratio}

    @staticmethod
    def _score(row, effective_order=False):
        # sacrebleu's own smoothing, spelt out because compute_bleu's default is another one.
        return BLEU.compute_bleu(
            row[_COUNTS].tolist(),
            row[_TOTALS].tolist(),
            sys_len=int(row[0]),
            ref_len=int(row[1]),
            smooth_method="exp",
            effective_order=effective_order,
        )
