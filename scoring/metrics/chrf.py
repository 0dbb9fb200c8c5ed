"""chrF between all pairs of texts at once: how similar each translation is to each other one.

Popović, "chrF: character n-gram F-score for automatic MT evaluation", WMT 2015. The values are
those of sacrebleu's `CHRF()`, which compares one pair at a time.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

ORDER = 6  # the longest character n-gram
BETA = 2.0  # recall counts BETA times as much as precision

_BLOCK = 4096  # n-grams multiplied at a time; limits memory to this many numbers per text


def pairwise_chrf(texts: Sequence[str]) -> np.ndarray:
    """chrF of each text with each text as its reference: [n, n] float32, a fraction.

    Element [i, j] has text i as the hypothesis and text j as the reference.
    """
    characters = ["".join(text.split()) for text in texts]
    shape = len(texts), len(texts)
    precision, recall, orders = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for order in range(1, ORDER + 1):
        totals = np.array([max(len(text) - order + 1, 0) for text in characters])
        matches = _matches(characters, order)
        both = (totals[:, None] > 0) & (totals > 0)
        precision += np.where(both, matches / np.maximum(totals, 1)[:, None], 0.0)
        recall += np.where(both, matches / np.maximum(totals, 1), 0.0)
        orders += both
    weighted = BETA**2 * precision + recall
    f_score = (1 + BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1.0)
    return (f_score / np.maximum(orders, 1)).astype(np.float32)


def _matches(texts, order):
    """The number of n-grams that two texts have in common, for all pairs: [n, n] float32."""
    texts_with = defaultdict(list)  # (n-gram, k) -> the texts that have it more than k times
    for number, text in enumerate(texts):
        counts = Counter(text[i : i + order] for i in range(len(text) - order + 1))
        for ngram, count in counts.items():
            for k in range(count):
                texts_with[ngram, k].append(number)
    # The texts of a list have much in common: n-grams of the same texts are counted together.
    groups = list(Counter(map(tuple, texts_with.values())).items())
    matches = np.zeros([len(texts), len(texts)], np.float32)
    for start in range(0, len(groups), _BLOCK):
        block = groups[start : start + _BLOCK]
        has = np.zeros([len(block), len(texts)], np.float32)
        for row, (numbers, _) in zip(has, block, strict=True):
            row[list(numbers)] = 1.0
        times = np.array([count for _, count in block], np.float32)
        matches += (has.T * times) @ has
    return matches
