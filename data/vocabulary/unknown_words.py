"""What unknown words cost, so that a model does not prefer text that it cannot read.

A model gives the unknown token a high probability, whatever word it stands for. The word itself
has to be spelled out: the cost is a price for each of its characters, in nats.
"""

from collections.abc import Collection
from functools import lru_cache

import numpy as np

from tta.data.vocabulary.load import AnyTokenizer

# The price, in nats, of a character that no token of the vocabulary has: what such characters of
# Wikipedia and of books cost, coded by their frequencies (`python -m benchmarks.unknown_price`).
UNSEEN_CHARACTER_PRICE = 6.4


class SpellingCosts:
    """The costs of the unknown words of texts.

    Args:
        tokenizer: splits the texts.
        letter_price: the price, in nats, of a character that occurs in the vocabulary's tokens.
    """

    def __init__(self, tokenizer: AnyTokenizer, letter_price: float):
        self._tokenizer = tokenizer
        self._letter_price = letter_price
        self._of_word = lru_cache(1 << 16)(self._cost)

    def of_text(self, text: str) -> list[float]:
        """The cost of each unknown word of a text, in order, in nats."""
        return [self._of_word(word) for word in self._tokenizer.unknown_words(text)]

    def prices(self) -> np.ndarray:
        """What a character of an unknown word costs, by its code point, for graphs: [C] float32.

        Characters of C or more cost as much as the last. Padding and blanks cost nothing.
        """
        codes = [ord(letter) for letter in self._tokenizer.vocabulary.letters]
        prices = np.full(max([*codes, ord(" ")]) + 2, UNSEEN_CHARACTER_PRICE, np.float32)
        prices[codes] = self._letter_price
        prices[[0, ord(" ")]] = 0.0
        return prices

    def _cost(self, word):
        return spelling_cost(word, self._tokenizer.vocabulary.letters, self._letter_price)


def spelling_cost(word: str, letters: Collection[str], letter_price: float) -> float:
    """The cost of an unknown word, in nats; `letters` are the characters of the vocabulary."""
    num_known = sum(character in letters for character in word)
    return num_known * letter_price + (len(word) - num_known) * UNSEEN_CHARACTER_PRICE


def count_unknown(tokenizer: AnyTokenizer, texts: list[str]) -> np.ndarray:
    """The number of unknown tokens of each of N texts: [N] int64."""
    ids, lengths = tokenizer.tokenize_flat(texts)
    totals = np.concatenate([[0], np.cumsum(ids == tokenizer.vocabulary.unk_id)])
    ends = np.cumsum(lengths)
    return totals[ends] - totals[ends - lengths]
