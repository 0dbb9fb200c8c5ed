"""The tokenizer: data preparation, training and scoring split text into the same word pieces."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from tokenizers import Tokenizer as Pipeline
from tokenizers.models import WordPiece
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from tta.data.vocabulary.normalization import FoldedCharacters, as_text, bert_normalizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError

# A sign of ASCII, or a run of other characters without blanks of ASCII. BERT splits text at all of
# these signs and blanks, so runs are independent of each other.
_RUNS = re.compile(r"[!-/:-@\[-`{-~]|[^!-/:-@\[-`{-~ \t\n\r]+")
_REMEMBERED_RUNS, _REMEMBERED_LENGTH = 1 << 16, 50

# Characters; a longer word is the unknown id. In BERT's own vocabularies, the limit is BERT's.
MAX_WORD_LENGTH, MAX_WORD_LENGTH_OF_BERT = 1000, 100
# The package's time for a word grows with the square of its length; ours, for longer words, does
# not, but is longer for short ones.
_LONG_WORD = 100


class Tokenizer:
    """Splits text into word pieces as BERT does, with the package `tokenizers`.

    Control characters are removed. Each Chinese character and each sign is a word. A word that
    cannot be split into pieces becomes the unknown id.

    Text never becomes a padding, begin, end or mask id: "[MASK]" in a text is four letters between
    brackets. These ids are only added by number.

    It may be used from several threads at once.

    Args:
        vocabulary: the pieces.
        lower_case: whether to lower-case text first.
        normalization: which accents the text loses, as in `bert_normalizer`; or "nfkc", which folds
            characters first, see `FoldedCharacters`.
    """

    def __init__(
        self, vocabulary: Vocabulary, lower_case: bool = True, normalization: str = "bert"
    ):
        self.vocabulary = vocabulary
        self.lower_case = lower_case
        self.normalization = normalization
        self._folded = FoldedCharacters(lower_case) if normalization == "nfkc" else None
        self._normalizer = bert_normalizer(lower_case, normalization)
        self._pipeline = word_piece_pipeline(vocabulary, self._normalizer)
        self._splitter = BertPreTokenizer()
        self._remembered = lru_cache(_REMEMBERED_RUNS)(self._ids_of)

    @property
    def settings(self) -> dict[str, Any]:
        """{name: value} of all that the ids of a text depend on."""
        return {
            "vocabulary": self.vocabulary.sha256,
            "lower_case": self.lower_case,
            "normalization": self.normalization,
        }

    def tokenize_flat(self, texts: Sequence[str | bytes]) -> tuple[np.ndarray, np.ndarray]:
        """Splits N texts, str or UTF-8, into one flat array.

        Returns the ids of all texts one after another, int32 [sum of lengths], and the lengths,
        int64 [N]. Raises InputError if a text is not valid Unicode (half a surrogate pair, from
        broken JSON).
        """
        ids: list[int] = []
        ends = np.zeros(len(texts) + 1, np.int64)
        for number, text in enumerate(texts, start=1):
            for run in _RUNS.findall(as_text(text)):
                is_short = len(run) <= _REMEMBERED_LENGTH
                ids += self._remembered(run) if is_short else self._ids_of(run)
            ends[number] = len(ids)
        return np.array(ids, np.int32), np.diff(ends)

    def encode(self, texts: Sequence[str | bytes]) -> list[np.ndarray]:
        """Splits N texts into N int32 arrays [T_n] of ids, without begin and end."""
        ids, lengths = self.tokenize_flat(texts)
        return np.split(ids, np.cumsum(lengths)[:-1]) if len(lengths) else []

    def words(self, text: str) -> list[str]:
        """The words of a text, normalized, before they are split into pieces."""
        if text.isascii() and text.isalpha():  # what follows takes 50 times as long
            return [text.lower() if self.lower_case else text]
        return self._words(as_text(text))

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that became the unknown id, in order, lower-cased as its pieces."""
        unknown = self.vocabulary.unk_id
        runs = (run for run in _RUNS.findall(text) if unknown in self._remembered(run))
        return [word for run in runs for word in self._words(run) if unknown in self._split(word)]

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """The pieces of ids, special tokens included. Raises InputError if an id is not known."""
        tokens = self.vocabulary.tokens
        ids = list(ids)
        for number in ids:
            if not 0 <= number < len(tokens):
                raise InputError(f"id {number} is not in a vocabulary of {len(tokens)}")
        return [tokens[number] for number in ids]

    def normalize(self, text: str) -> str:
        """The text before it is split into words."""
        return self._normalizer.normalize_str(self._fold(text))

    def _ids_of(self, run):
        if len(run) > _LONG_WORD:
            words = self._words(run)
            if max(map(len, words), default=0) > _LONG_WORD:
                return [number for word in words for number in self._split(word)]
        return self._pipeline.encode(self._fold(run), add_special_tokens=False).ids

    def _words(self, run):
        """The words of a run, normalized."""
        return [word for word, _ in self._splitter.pre_tokenize_str(self.normalize(run))]

    def _split(self, word):
        """The ids of a word: the longest piece from the left, and so on, as in the pipeline."""
        is_long = len(word) > max_word_length(self.vocabulary)
        return (self.vocabulary.unk_id,) if is_long else self.vocabulary.longest_pieces(word)

    def _fold(self, text):
        return text if self._folded is None else text.translate(self._folded)


def max_word_length(vocabulary: Vocabulary) -> int:
    """The most characters that a word of known pieces has."""
    return MAX_WORD_LENGTH_OF_BERT if vocabulary.is_of_bert else MAX_WORD_LENGTH


def word_piece_pipeline(vocabulary: Vocabulary, normalizer: Normalizer) -> Pipeline:
    """Normalizes a text, splits it into words as BERT does, and words into pieces."""
    pipeline = Pipeline(
        WordPiece(
            vocabulary.ids,
            unk_token=vocabulary.tokens[vocabulary.unk_id],
            max_input_chars_per_word=max_word_length(vocabulary),
        )
    )
    pipeline.normalizer = normalizer
    pipeline.pre_tokenizer = BertPreTokenizer()
    return pipeline
