"""Corpus BLEU, computed by sacrebleu, and chrF between all pairs of texts at once.

The n-grams of a hypothesis are matched only once. chrF says how similar translations are.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tta.errors import InputError, install
from tta.scoring.metrics.metric import BLEU_TOKENIZERS

try:
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF as CHRF
    from sacrebleu.metrics.ter import TER as TER
except ModuleNotFoundError:
    raise InputError(f"BLEU, chrF and TER need sacrebleu: {install('bleu')}") from None


class OfSacrebleu:
    """What the metrics of translations have in common: sacrebleu's statistics, a loss by chrF.

    Attributes:
        scorer: sacrebleu's metric.
    """

    name: str
    scorer: Any
    loss_name = "1 - chrF"
    normalize = str  # texts are compared unchanged
    of_speech = by_character = False

    def __init__(self, **options: Any):
        # sacrebleu writes "nrefs:1" only if it has seen a reference.
        signed = type(self.scorer)(references=[["-"]], **options)
        self.signature = f"{self.name}|{signed.get_signature()}"

    def statistics(self, hypotheses: Sequence[str], reference: str, *more: str) -> np.ndarray:
        """[n, S], what sacrebleu sums over texts."""
        if more:
            self.signature = self.signature.replace("nrefs:1", "nrefs:var")
        references = [[text] * len(hypotheses) for text in (reference, *more)]
        return np.array(self.scorer._extract_corpus_statistics(hypotheses, references))

    def losses(self, texts: Sequence[str]) -> np.ndarray:
        """1 - chrF of text i if text j is correct: [n, n] float32.

        The BLEU of one sentence is a coarse measure: most pairs share few n-grams of four words. On
        IWSLT'14, choosing by chrF gives a higher corpus BLEU than choosing by the BLEU of sentences
        (docs/reranking.md).
        """
        losses = 1 - pairwise_chrf(texts)
        _, kinds = np.unique(texts, return_inverse=True)
        losses[kinds[:, None] == kinds] = 0.0  # the chrF of two empty texts is 0
        return losses

    def details(self, totals: np.ndarray) -> dict[str, float]:
        """No numbers beside the value."""
        return {}


class Bleu(OfSacrebleu):
    """sacrebleu's corpus BLEU, from 0 to 100; a `tta.scoring.metrics.metric.Metric`.

    `tokenize` is one of `BLEU_TOKENIZERS`; `none` is for text that is already tokenized. An unknown
    one raises InputError. The statistics are [n, 10] int64: words, reference words, matched
    n-grams, all n-grams (orders 1 to 4).
    """

    name = "BLEU"
    higher_is_better = True

    def __init__(self, tokenize: str):
        if tokenize not in BLEU_TOKENIZERS:
            choices = " or ".join(BLEU_TOKENIZERS)
            raise InputError(f"bleu_tokenize must be {choices}, not {tokenize!r}")
        self.scorer = BLEU(tokenize=tokenize, force=True)  # no warnings of sacrebleu
        super().__init__(tokenize=tokenize)

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """[..., 10] summed statistics -> [...] float64, corpus BLEU as sacrebleu computes it."""
        return _bleu(np.asarray(totals), effective_order=False)

    def errors(self, statistics: np.ndarray) -> np.ndarray:
        """[..., 10] -> [...] float64, a quarter of the reference words, times 1 - BLEU / 100.

        A quarter, because a wrong word is part of four n-grams of four words. It is the BLEU of
        each sentence alone (effective order). Corpus BLEU is not a sum over
        sentences. The oracle, which takes the best hypothesis of each list, is therefore a close
        lower bound of the best possible value.
        """
        bleu = _bleu(np.asarray(statistics), effective_order=True)
        return statistics[..., 1] / 4 * (1 - bleu / 100)

    def details(self, totals: np.ndarray) -> dict[str, float]:
        """The brevity penalty, and words divided by reference words."""
        words, reference_words = totals[:2]
        brevity = np.exp(min(0.0, 1 - reference_words / words)) if words else 0.0
        return {"brevity": float(brevity), "length": float(words / max(reference_words, 1))}


def _bleu(statistics, effective_order):
    """BLEU of many rows of statistics at once: [..., 10] -> [...] float64, 0 to 100.

    sacrebleu computes one row at a time, which is too slow for a search. Orders without a match are
    smoothed as by its default, `exp`: the k-th of them counts as 1 / 2 ** k matches. With the
    effective order, orders without any n-gram do not count.
    """
    words, reference_words = statistics[..., 0], statistics[..., 1]
    matched, total = statistics[..., 2:6], statistics[..., 6:10]
    exists = np.logical_and.accumulate(total > 0, axis=-1)
    missed = exists & (matched == 0)
    smoothed = np.where(missed, 0.5 ** missed.cumsum(axis=-1), matched)
    precisions = np.where(exists, smoothed, 1.0) / np.where(exists, total, 1)
    orders = np.maximum(exists.sum(axis=-1), 1)
    means = np.exp(np.log(precisions).sum(axis=-1) / orders)
    if not effective_order:  # an order without n-grams has the precision 0
        means = np.where(exists.all(axis=-1), means, 0.0)
    brevity = np.exp(np.minimum(0.0, 1 - reference_words / np.maximum(words, 1)))
    return np.where(matched.any(axis=-1), 100.0 * brevity * means, 0.0)


ORDER = 6  # the longest character n-gram
BETA = 2.0  # recall counts BETA times as much as precision

_BLOCK = 4096  # columns multiplied at a time; limits memory to this many numbers per text


def pairwise_chrf(texts: Sequence[str]) -> np.ndarray:
    """chrF of each text with each text as its reference: [n, n] float32, a fraction.

    Element [i, j] has text i as the hypothesis and text j as the reference.
    """
    joined = ["".join(text.split()) for text in texts]
    lengths = np.array([len(text) for text in joined], int)
    owners = np.repeat(np.arange(len(texts)), lengths)  # the text of each character
    starts = np.arange(len(owners))  # where the n-grams of the current order start
    codes = np.frombuffer("".join(joined).encode("utf-32-le", "surrogatepass"), np.uint32)
    _, characters = np.unique(codes, return_inverse=True)
    ngrams = characters
    shape = len(texts), len(texts)
    precision, recall, orders = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for order in range(1, ORDER + 1):
        totals = np.maximum(lengths - order + 1, 0)
        matches = _matches(owners[starts], ngrams, len(texts))
        both = (totals[:, None] > 0) & (totals > 0)
        precision += np.where(both, matches / np.maximum(totals, 1)[:, None], 0.0)
        recall += np.where(both, matches / np.maximum(totals, 1), 0.0)
        orders += both
        # An n-gram becomes longer by the next character, if that is of the same text.
        end = starts + order
        inside = end < len(owners)
        inside[inside] = owners[end[inside]] == owners[starts[inside]]
        starts = starts[inside]
        longer = ngrams[inside] * len(owners) + characters[starts + order]
        _, ngrams = np.unique(longer, return_inverse=True)
    weighted = BETA**2 * precision + recall
    f_score = (1 + BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1.0)
    return (f_score / np.maximum(orders, 1)).astype(np.float32)


def _matches(owners, ngrams, count):
    """The number of n-grams that two of `count` texts have in common: [count, count] float32.

    `ngrams` are n-grams as numbers below their count, `owners` the texts that they are from.
    """
    # The k-th occurrence of an n-gram in a text is a column of its own, so that a product counts
    # the occurrences that two texts have in common.
    order = np.lexsort((owners, ngrams))
    owners, ngrams = owners[order], ngrams[order]
    positions = np.arange(len(ngrams))
    first = np.ones(len(ngrams), bool)
    first[1:] = (ngrams[1:] != ngrams[:-1]) | (owners[1:] != owners[:-1])
    occurrence = positions - np.maximum.accumulate(np.where(first, positions, 0))
    _, columns = np.unique(ngrams * (len(ngrams) + 1) + occurrence, return_inverse=True)
    order = np.argsort(columns, kind="stable")
    owners, columns = owners[order], columns[order]
    num_columns = int(columns.max(initial=-1)) + 1
    matches = np.zeros([count, count], np.float32)
    for start in range(0, num_columns, _BLOCK):
        stop = min(start + _BLOCK, num_columns)
        block = slice(*np.searchsorted(columns, [start, stop]))
        has = np.zeros([count, stop - start], np.float32)
        has[owners[block], columns[block] - start] = 1.0
        matches += has @ has.T
    return matches
