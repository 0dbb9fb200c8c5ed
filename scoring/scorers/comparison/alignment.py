"""Similarity of two texts by their words: `alignment` and `aligned`.

Each word has its nearest word in the other text. `alignment` is the mean of their cosines, in which
rare words weigh more. `aligned` adds the cosine of the means of all words. Neither needs labels,
training or a pass of the network: words are rows of the token table, whitened.

Aligned words are in Sultan et al. 2014 (https://aclanthology.org/Q14-1018), the weighted mean of
largest cosines in BERTScore (Zhang et al. 2020, https://arxiv.org/abs/1904.09675), lengths as
weights and directions as words in the word rotator's distance (Yokoi et al. 2020,
https://aclanthology.org/2020.emnlp-main.236). Ours are the whitened rows and the frequencies of a
small language model, numbers by their values, and what a negation costs.

N texts, P pairs of texts, W distinct words, T words of a text, D vector size.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tta.scoring.scorers.comparison.words import WordTexts, is_number
from tta.scoring.scorers.pooling import JOINT_CONSTANT, of_length_1

ALIGNED, ALIGNMENT = "aligned", "alignment"

# Constants chosen on STS-B dev and SICK train (docs/experiments/training.md).
SHARES = {ALIGNED: 0.6, ALIGNMENT: 1.0}  # of the alignment; the rest is the cosine of means
RARE = 3e-4  # a piece of the relative frequency p weighs RARE / (RARE + p)
MAX_WEIGHT = 1.5  # of a word of several pieces
NEGATION_COST, NEGATION_POWER = 0.15, 6

# Words are inflections of each other if they begin with the same letters: this many, or all letters
# of the shorter word, which has one less.
STEM = 4

# At a time: cosines of words, words of the first text in a long pair, pairs of texts.
_CELLS, _ROWS, _PAIRS = 1 << 13, 64, 1 << 13


@dataclass(frozen=True)
class WordPair:
    """A word of one text and a word of another, of which one is the nearest of the other.

    Attributes:
        first, second: the words as the model reads them.
        cosine: -1 to 1.
        weight: 0 to 1. The weights of all pairs of two texts sum to 1.
        first_index, second_index: their places among the words of their texts, from 0.
    """

    first: str
    second: str
    cosine: float
    weight: float
    first_index: int
    second_index: int


@dataclass(frozen=True, eq=False)
class WordVectors:
    """What the model knows of W words.

    Attributes:
        sums: [W, D] float32, of the weighted rows of a word's pieces; zeros for an unknown word.
        masses: [W] float32, the sums of these weights.
        weights: [W] float64, the weight of a word in an alignment: 1 for an unknown word.
    """

    sums: np.ndarray
    masses: np.ndarray
    weights: np.ndarray


class AlignedTexts:
    """Compares any of N texts with any other by their words.

    The similarity of a pair does not depend on its order, to the last bit.

    Args:
        texts: the words of distinct texts, in an order that does not depend on that of the pairs.
        vectors: of `texts.words`.
        places: [N] int, the place of each of the N texts among the distinct ones.
        share: the share of the alignment; the rest is the cosine of the means.
    """

    def __init__(self, texts: WordTexts, vectors: WordVectors, places: np.ndarray, share: float):
        self._texts, self._places, self._share = texts, places, share
        self._starts = np.cumsum(texts.lengths) - texts.lengths
        self._has_words = texts.lengths > 0
        self._table = _WordTable(texts.words, vectors)
        self._means = _means(texts, vectors) if share < 1.0 else None
        self._has_mean = texts.counts @ vectors.masses > 0

    @property
    def is_known(self) -> np.ndarray:
        """[N] bool, whether a text has words."""
        return self._has_words[self._places]

    def similarities(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The similarity of P pairs of texts.

        Args:
            first, second: [P] int, the places of the texts.

        Returns:
            [P] float64, -1 to 1; 0 if a text has no words.
        """
        pairs = np.sort([self._places[first], self._places[second]], axis=0)
        num_texts = max(1, len(self._starts))
        distinct, inverse = np.unique(pairs[0] * num_texts + pairs[1], return_inverse=True)
        return self._of_distinct(*np.divmod(distinct, num_texts))[inverse]

    def matrix(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """The similarity of each of the texts `first` to each of `second`: [N1, N2] float64.

        Both orders of a pair are computed once, in the block of the text that comes first.
        """
        rows, columns = self._places[first], self._places[second]
        result = np.zeros((len(rows), len(columns)))
        texts = np.unique(np.concatenate([rows, columns]))
        is_row, is_column = np.isin(texts, rows), np.isin(texts, columns)
        rows, columns = np.searchsorted(texts, rows), np.searchsorted(texts, columns)
        step = max(1, _PAIRS // max(1, len(texts)))
        for start in range(0, len(texts), step):
            block = np.arange(start, min(start + step, len(texts)))
            is_pair = is_row[block, None] & is_column | is_column[block, None] & is_row
            low, high = np.nonzero(is_pair & (block[:, None] <= np.arange(len(texts))))
            values = np.zeros(is_pair.shape)
            values[low, high] = self._of_distinct(texts[block[low]], texts[high])
            for row in np.flatnonzero(np.isin(rows, block)):
                later = columns >= rows[row]
                result[row, later] = values[rows[row] - start, columns[later]]
            for column in np.flatnonzero(np.isin(columns, block)):
                later = rows >= columns[column]
                result[later, column] = values[columns[column] - start, rows[later]]
        return result

    def pairs(self, first: int, second: int) -> list[WordPair]:
        """The `WordPair`s of two texts, in the order of the first one's words."""
        first_ids, second_ids = self._ids(self._places[first]), self._ids(self._places[second])
        if not (len(first_ids) and len(second_ids)):
            return []
        cosines = self._table.cosines(first_ids[None], second_ids[None])[0]
        shares = [self._shares(of_text[None])[0] / 2 for of_text in (first_ids, second_ids)]
        weights: dict[tuple[int, int], float] = {}
        nearest = [*enumerate(cosines.argmax(axis=1).tolist())]
        nearest += [(row, column) for column, row in enumerate(cosines.argmax(axis=0).tolist())]
        for pair, weight in zip(nearest, np.concatenate(shares).tolist(), strict=True):
            weights[pair] = weights.get(pair, 0.0) + weight
        words = self._texts.words
        return [
            WordPair(
                first=words[first_ids[i]],
                second=words[second_ids[j]],
                cosine=float(cosines[i, j]),
                weight=weight,
                first_index=i,
                second_index=j,
            )
            for (i, j), weight in sorted(weights.items())
        ]

    def _ids(self, text: int) -> np.ndarray:
        start = self._starts[text]
        return self._texts.ids[start : start + self._texts.lengths[text]]

    def _of_distinct(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """The similarities of P distinct pairs of distinct texts: [P] float64."""
        is_longer = self._texts.lengths[low] > self._texts.lengths[high]
        short, long = np.where(is_longer, [high, low], [low, high])
        result = np.zeros(len(low))
        compared = np.flatnonzero(self._has_words[short])
        for start in range(0, len(compared), _PAIRS):
            block = compared[start : start + _PAIRS]
            result[block] = self._of_pairs(short[block], long[block])
        return result

    def _of_pairs(self, short: np.ndarray, long: np.ndarray) -> np.ndarray:
        """The similarities of P pairs of texts that have words: [P] float64."""
        result = self._alignments(short, long)
        if self._means is not None:
            cosines = np.einsum("pd,pd->p", self._means[short], self._means[long])
            mixed = self._share * result + (1.0 - self._share) * cosines
            result = np.where(self._has_mean[short] & self._has_mean[long], mixed, result)
        # A negation makes a difference between texts that are alike in all else.
        differ = self._texts.negates[short] != self._texts.negates[long]
        cost = NEGATION_COST * np.maximum(result, 0.0) ** NEGATION_POWER
        return np.clip(result - differ * cost, -1.0, 1.0)

    def _alignments(self, short: np.ndarray, long: np.ndarray) -> np.ndarray:
        """The alignments of P pairs of texts that have words: [P] float64.

        Pairs of a batch have texts of similar lengths, so they need little padding.
        """
        num_rows, num_columns = self._texts.lengths[short], self._texts.lengths[long]
        exponents = np.frexp(num_columns)[1]  # 2 ** exponent is more than the number of columns
        result = np.zeros(len(short))
        for exponent in np.unique(exponents).tolist():
            alike = np.flatnonzero(exponents == exponent)
            alike = alike[np.argsort(num_rows[alike], kind="stable")]
            while len(alike):
                size = max(1, _CELLS // (int(num_rows[alike[-1]]) << exponent))
                batch, alike = alike[-size:], alike[:-size]
                result[batch] = self._alignments_of_batch(short[batch], long[batch])
        return result

    def _alignments_of_batch(self, short: np.ndarray, long: np.ndarray) -> np.ndarray:
        """As `_alignments`, of a batch; a pair of long texts is cut into blocks of rows."""
        short_ids, long_ids = self._padded(short), self._padded(long)  # [B, T1], [B, T2]
        of_rows = np.empty(short_ids.shape, np.float32)
        of_columns = np.full(long_ids.shape, -1.0, np.float32)
        for start in range(0, short_ids.shape[1], _ROWS):
            block = slice(start, start + _ROWS)
            cosines = self._table.cosines(short_ids[:, block], long_ids)  # [B, up to _ROWS, T2]
            of_rows[:, block] = cosines.max(axis=2)
            of_columns = np.maximum(of_columns, cosines.max(axis=1))
        of_short = (self._shares(short_ids) * of_rows).sum(axis=1)
        of_long = (self._shares(long_ids) * of_columns).sum(axis=1)
        return (of_short + of_long) / 2

    def _shares(self, ids: np.ndarray) -> np.ndarray:
        """The weights of the words of texts, of sum 1: [B, T] float64."""
        weights = self._table.weights[ids]
        return weights / weights.sum(axis=1, keepdims=True)

    def _padded(self, texts: np.ndarray) -> np.ndarray:
        """The words of texts, padded with the number of no word: [B, T] int."""
        lengths = self._texts.lengths[texts]
        columns = np.arange(lengths.max())
        is_word = columns < lengths[:, None]
        padded = np.full(is_word.shape, len(self._texts.words))
        padded[is_word] = self._texts.ids[(self._starts[texts][:, None] + columns)[is_word]]
        return padded


class _WordTable:
    """The W words of texts, and number W, padding, whose cosines are -1.

    Attributes:
        weights: [W + 1] float64, 0 for padding.
    """

    def __init__(self, words: list[str], vectors: WordVectors):
        self._words, self._padding = words, len(words)
        self.weights = np.append(vectors.weights, 0.0)
        no_vector = np.zeros((1, vectors.sums.shape[1]), np.float32)
        self._units = np.concatenate([of_length_1(vectors.sums), no_vector])
        self._is_number = np.array([*map(is_number, words), False])
        self._beginnings = _numbered([_beginning(word) for word in words])

    def cosines(self, first_ids: np.ndarray, second_ids: np.ndarray) -> np.ndarray:
        """Of each word of a text with each word of another: [B, T1], [B, T2] -> [B, T1, T2]."""
        cosines = self._units[first_ids] @ self._units[second_ids].transpose(0, 2, 1)
        both_numbers = _outer(np.logical_and, self._is_number, first_ids, second_ids)
        np.minimum(cosines, 0.0, out=cosines, where=both_numbers)  # 3 is not nearly 4
        begin_alike = np.nonzero(_outer(np.equal, self._beginnings, first_ids, second_ids))
        pair, row, column = begin_alike
        codes = first_ids[pair, row] * (self._padding + 1) + second_ids[pair, column]
        distinct, inverse = np.unique(codes, return_inverse=True)
        nearness = np.array([self._nearness(code) for code in distinct.tolist()], np.float32)
        nearest = np.maximum(cosines[begin_alike], nearness[inverse])
        cosines[begin_alike] = np.minimum(nearest, 1.0)
        cosines[first_ids == self._padding] = -1.0
        np.copyto(cosines, -1.0, where=(second_ids == self._padding)[:, None, :])
        return cosines

    def _nearness(self, code: int) -> float:
        """Of two words that begin alike: 1 for the same word, as `inflection` for others."""
        word, other = divmod(code, self._padding + 1)
        if word == other:
            return 1.0
        return inflection(*sorted([self._words[word], self._words[other]]))


def _outer(function, values, first_ids, second_ids):
    """A function of the values of each two words: [B, T1], [B, T2] -> [B, T1, T2]."""
    return function(values[first_ids][:, :, None], values[second_ids][:, None, :])


def _numbered(keys: Sequence[Hashable]) -> np.ndarray:
    """Numbers the distinct keys of W words: [W + 1] int, the last is that of padding."""
    numbers: dict[Hashable, int] = {}
    return np.array([*(numbers.setdefault(key, len(numbers)) for key in keys), -1])


def _beginning(word: str) -> Hashable:
    """What a word has in common with its inflections, and with no other word if it has none."""
    folded = word.casefold()
    return folded[: STEM - 1] if folded.isalpha() and len(folded) >= STEM - 1 else (folded,)


def _means(texts: WordTexts, vectors: WordVectors) -> np.ndarray:
    """The means of the words of texts beside a constant, of length 1: [N, D + 1] float64.

    Zeros for a text without known words. The constant is that of `join`.
    """
    counts = texts.counts
    totals = (counts @ vectors.masses)[:, None]  # [N, 1]
    means = counts @ vectors.sums / np.where(totals > 0, totals, 1.0)
    with_constant = np.concatenate([means, JOINT_CONSTANT * (totals > 0)], axis=1, dtype=np.float64)
    return of_length_1(with_constant)


@lru_cache(1 << 16)
def inflection(first: str, second: str) -> float:
    """How near two words are that begin alike, such as "walk" and "walking": 0 to 1.

    It is the share of their letters in the common beginning; -1 if that is too short. Words that
    differ in case only are equal.
    """
    letters, other_letters = first.casefold(), second.casefold()
    shortest = min(len(letters), len(other_letters))
    differ = (n for n in range(shortest) if letters[n] != other_letters[n])
    length = next(differ, shortest)
    is_whole_word = length == shortest >= STEM - 1
    if letters != other_letters and length < STEM and not is_whole_word:
        return -1.0
    return 2 * length / (len(letters) + len(other_letters))
