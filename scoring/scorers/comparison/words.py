"""Texts as words: words of a tokenizer, numbers by their values, and what negates.

N texts, T words of a text, W distinct words.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from tta.data.vocabulary.load import AnyTokenizer

# A number, with or without commas between thousands, or what is between blanks, numbers and signs.
_PARTS = re.compile(r"\d{1,3}(?:,\d{3})+(?!\d|,\d)(?:\.\d+)?|\d+(?:\.\d+)?|[^\s\d!-/:-@\[-`{-~]+")
# Of English, beside n't.
NEGATIONS = frozenset(
    ["no", "not", "never", "none", "nobody", "nothing", "neither", "nor", "without", "cannot"]
)
_CONTRACTED_NOT = re.compile(r"n['\u2019]t\b", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class WordTexts:
    """N texts as words.

    Attributes:
        words: the W distinct words. Numbers are without commas and needless zeros.
        ids: [sum of T] int, the places in `words` of the words of all texts, one after another.
        lengths: [N] int, the number of words of each text.
        negates: [N] bool, whether an English word of a text negates.
    """

    words: list[str]
    ids: np.ndarray
    lengths: np.ndarray
    negates: np.ndarray

    @property
    def counts(self) -> Any:
        """How often each text has each word: a sparse array [N, W] float32."""
        from scipy.sparse import csr_array  # takes longer to import than to run

        ones = np.ones(len(self.ids), np.float32)
        ends = np.concatenate([[0], np.cumsum(self.lengths)])
        return csr_array((ones, self.ids, ends), shape=(len(self.lengths), len(self.words)))

    @classmethod
    def read(cls, texts: Sequence[str], tokenizer: AnyTokenizer) -> "WordTexts":
        """Splits texts into numbers and the words of a tokenizer.

        Punctuation counts only in a text that has nothing else.
        """
        words = _Words(tokenizer)
        ids: list[int] = []
        ends, negates = [0], []
        for text in texts:
            tokens = text.split()
            ids += chain.from_iterable(map(words.__getitem__, tokens))
            negates.append(not words.negating.isdisjoint(tokens))
            if len(ids) == ends[-1]:
                ids += [words.place(sign) for sign in "".join(tokens)]
            ends.append(len(ids))
        return cls(
            words=list(words.places),
            ids=np.array(ids, np.int64),
            lengths=np.diff(ends),
            negates=np.array(negates, bool),
        )


class _Words(dict[str, list[int]]):
    """What stands between blanks -> the places of its words, numbered as they first occur.

    Attributes:
        places: {word: its place}.
        negating: of what stands between blanks, what has an English word that negates.
    """

    def __init__(self, tokenizer: AnyTokenizer):
        self._tokenizer = tokenizer
        self.places: dict[str, int] = {}
        self.negating: set[str] = set()

    def __missing__(self, token: str) -> list[int]:
        words = [word for part in _PARTS.findall(token) for word in self._words_of(part)]
        if not NEGATIONS.isdisjoint(map(str.casefold, words)) or _CONTRACTED_NOT.search(token):
            self.negating.add(token)
        self[token] = [self.place(word) for word in words]
        return self[token]

    def place(self, word: str) -> int:
        """The place of a word, a new one if it is new."""
        return self.places.setdefault(word, len(self.places))

    def _words_of(self, part: str) -> list[str]:
        """A number, or the words of other text without punctuation."""
        if is_number(part):
            return [_plain_number(part)]
        words = self._tokenizer.words(part)
        return [word for word in words if word.isalnum() or not _is_punctuation(word)]


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(letter)[0] == "P" for letter in word)


def _plain_number(number: str) -> str:
    """A number such that equal values are equal strings: "1,200.50" is "1200.5"."""
    digits = "".join(c if c in ".," else str(unicodedata.decimal(c)) for c in number)
    whole, _, fraction = digits.replace(",", "").partition(".")
    return ".".join(filter(None, [whole.lstrip("0") or "0", fraction.rstrip("0")]))


def is_number(word: str) -> bool:
    return word[0].isdecimal()
