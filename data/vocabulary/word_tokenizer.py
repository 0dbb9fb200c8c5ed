"""Splits text into words. Words that no vocabulary has get an id of their own."""

import re
import threading
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from tta.data.vocabulary.normalization import accent_normalizer, as_text
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError

MAX_WORD_LENGTH = 100  # characters; a longer word gets no id of its own
MAX_NEW_WORDS = 1 << 20  # words outside of the vocabulary that a tokenizer remembers

_MAX_ID = 2**31 - 1
_PICTOGRAPHS = range(0x1F000, 0x1FC00)  # emoji and the like; Unicode extends them every year


def split_words(text: str, lower_case: bool = False, normalization: str = "bert") -> list[str]:
    """Splits a text into words at white space and punctuation.

    Each character of punctuation and each symbol is a word of its own. Text in scripts without
    blanks between words, such as Chinese, has to be split into words beforehand.

    Args:
        text: has no half of a surrogate pair.
        lower_case: whether to lower-case the text first.
        normalization: which accents it loses, see `tta.data.vocabulary.normalization`.
    """
    return _pattern().findall(_normalized(text, lower_case, normalization))


def _normalized(text, lower_case, normalization):
    if not text.isascii():
        text = accent_normalizer(lower_case, normalization).normalize_str(text)
    return text.lower() if lower_case else text


@cache
def _pattern():
    """Finds words: one symbol, or a run of characters that are no symbols and no white space.

    Symbols are Unicode's categories P and S. Beyond the first 65,536 characters only pictographs
    are: a longer list makes the search slow.
    """
    symbols, blanks = list(_PICTOGRAPHS), []
    for code in range(1 << 16):
        category = unicodedata.category(chr(code))
        if category[0] in "PS":
            symbols.append(code)
        elif category[0] == "Z" or category == "Cc":
            blanks.append(code)
    symbols, blanks = _character_class(symbols), _character_class(blanks)
    return re.compile(f"[^{symbols}{blanks}]+|[{symbols}]")


def _character_class(codes):
    """The inside of a regular expression's [] for some characters."""
    runs = []
    for code in sorted(codes):
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in runs)


class WordTokenizer:
    """Splits text into words (`split_words`) and looks up their ids.

    Text never becomes a padding, begin or end id. A word that is not in the vocabulary becomes the
    unknown id, or, with `open_vocabulary`, a new id of at least len(vocabulary), whose word
    `pieces` returns. A new id has a meaning for this tokenizer only. At most `MAX_NEW_WORDS` new
    words are remembered; then those that were not seen for the longest time are forgotten. A new
    word of more than `MAX_WORD_LENGTH` characters stays unknown.

    It may be used from several threads at once. There is no `tokenize` for graphs of TensorFlow.

    Args:
        vocabulary: the words.
        lower_case: whether to lower-case text first.
        open_vocabulary: whether unknown words get new ids.
        normalization: as in `split_words`.
    """

    def __init__(
        self,
        vocabulary: WordVocabulary,
        lower_case: bool = False,
        open_vocabulary: bool = False,
        normalization: str = "bert",
    ):
        self.vocabulary = vocabulary
        self.lower_case = lower_case
        self.normalization = normalization
        self.open_vocabulary = open_vocabulary
        self._new_words = _NewWords(len(vocabulary))

    @property
    def settings(self) -> dict[str, Any]:
        """{name: value} of all that the ids of a text depend on."""
        return {
            "vocabulary": self.vocabulary.sha256,
            "lower_case": self.lower_case,
            "normalization": self.normalization,
            "open_vocabulary": self.open_vocabulary,
        }

    def tokenize_flat(self, texts: Sequence[str | bytes]) -> tuple[np.ndarray, np.ndarray]:
        """Splits N texts, str or UTF-8, into one flat array.

        Returns the ids of all texts one after another, int32 [sum of lengths], and the lengths,
        int64 [N]. Raises InputError if a text is not valid Unicode.
        """
        id_of, ids = self.vocabulary.ids, list[int]()
        lengths = np.zeros(len(texts), np.int64)
        for number, text in enumerate(texts):
            words = self.words(text)
            lengths[number] = len(words)
            ids += [id_of[word] if word in id_of else self._id_of_new(word) for word in words]
        return np.array(ids, np.int32), lengths

    def encode(self, texts: Sequence[str | bytes]) -> list[np.ndarray]:
        """Splits N texts into N int32 arrays [T_n] of ids, without begin and end."""
        ids, lengths = self.tokenize_flat(texts)
        return np.split(ids, np.cumsum(lengths)[:-1]) if len(lengths) else []

    def words(self, text: str | bytes) -> list[str]:
        """The words of a text, normalized."""
        return split_words(as_text(text), self.lower_case, self.normalization)

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that become the unknown id, in order."""
        id_of = self.vocabulary.ids
        longest = MAX_WORD_LENGTH if self.open_vocabulary else 0
        words = self.words(text)
        return [word for word in words if word not in id_of and len(word) > longest]

    def normalize(self, text: str) -> str:
        """The text before it is split into words."""
        return _normalized(text, self.lower_case, self.normalization)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The words of ids, also new ones. Raises InputError if an id is unknown or forgotten."""
        tokens, size = self.vocabulary.tokens, len(self.vocabulary)
        words = []
        for number in map(int, ids):
            word = tokens[number] if 0 <= number < size else self._new_words.word_of(number)
            if word is None:
                raise InputError(f"id {number} is not in a vocabulary of {size}")
            words.append(word)
        return words

    def _id_of_new(self, word):
        """The id of a word that the vocabulary does not have."""
        is_open = self.open_vocabulary and len(word) <= MAX_WORD_LENGTH
        return self._new_words.id_of(word) if is_open else self.vocabulary.unk_id


class _NewWords:
    """Ids from `first` on for words, the `MAX_NEW_WORDS` that were seen last."""

    def __init__(self, first):
        self._first = self._next = first
        self._ids = {}  # the word that was not seen for the longest time comes first
        self._words = {}
        self._lock = threading.Lock()

    def id_of(self, word):
        with self._lock:
            number = self._ids.pop(word, None)
            if number is None:
                number = self._free_id()
                self._words[number] = word
            self._ids[word] = number  # now the last one
            if len(self._ids) > MAX_NEW_WORDS:
                del self._words[self._ids.pop(next(iter(self._ids)))]
            return number

    def word_of(self, number):
        return self._words.get(number)

    def _free_id(self):
        """An id that was not used for as long as possible."""
        while self._next in self._words or self._next > _MAX_ID:
            self._next = self._first if self._next > _MAX_ID else self._next + 1
        self._next += 1
        return self._next - 1
