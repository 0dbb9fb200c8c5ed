"""chrF between all pairs of texts at once: how similar each translation is to each other one.

Popović, "chrF: character n-gram F-score for automatic MT evaluation", WMT 2015. The values are
those of sacrebleu's `CHRF()`, which compares one pair at a time.
"""

from collections.abc import Sequence

import numpy as np

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
