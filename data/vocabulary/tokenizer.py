"""The tokenizer: data preparation, training and scoring split text into the same word pieces."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from tokenizers import Tokenizer as Pipeline
from tokenizers.models import WordPiece
from tokenizers.normalizers import Normalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from tta.data.vocabulary.normalization import FoldedCharacters, bert_normalizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.data.vocabulary.word_tokenizer import as_text
from tta.errors import InputError

# A sign of ASCII, or a run of other characters without blanks of ASCII. BERT splits text at all of
# these signs and blanks, so runs are independent of each other.
_RUNS = re.compile(r"[!-/:-@\[-`{-~]|[^!-/:-@\[-`{-~ \t\n\r]+")
_REMEMBERED_RUNS, _REMEMBERED_LENGTH = 1 << 16, 50

# Characters; a longer word is the unknown id. In BERT's own vocabularies, the limit is BERT's.
MAX_WORD_LENGTH, MAX_WORD_LENGTH_OF_BERT = 1000, 100


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
        self._remembered = lru_cache(_REMEMBERED_RUNS)(self._ids_of)

    def tokenize_flat(self, texts: Sequence[str | bytes]) -> tuple[np.ndarray, np.ndarray]:
        """Splits N texts, str or UTF-8, into one flat array.

        Returns the ids of all texts one after another, int32 [sum of lengths], and the lengths,
        int64 [N].

        Raises:
            InputError: a text is not valid Unicode (half a surrogate pair, from broken JSON).
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

    def unknown_words(self, text: str) -> list[str]:
        """The words of a text that became the unknown id, in order, lower-cased as its pieces."""
        words = []
        for run in _RUNS.findall(text):
            if self.vocabulary.unk_id in self._remembered(run):
                run = self._fold(run)
                found = self._pipeline.encode(run, add_special_tokens=False)
                for number, (start, stop) in zip(found.ids, found.offsets, strict=True):
                    if number == self.vocabulary.unk_id:
                        word = self._normalizer.normalize_str(run[start:stop])
                        words.append(word.strip())  # Chinese characters get blanks around
        return words

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

    def _ids_of(self, text):
        return self._pipeline.encode(self._fold(text), add_special_tokens=False).ids

    def _fold(self, text):
        return text if self._folded is None else text.translate(self._folded)


def word_piece_pipeline(vocabulary: Vocabulary, normalizer: Normalizer) -> Pipeline:
    """Normalizes a text, splits it into words as BERT does, and words into pieces."""
    pipeline = Pipeline(
        WordPiece(
            vocabulary.ids,
            unk_token=vocabulary.tokens[vocabulary.unk_id],
            max_input_chars_per_word=(
                MAX_WORD_LENGTH_OF_BERT if vocabulary.is_of_bert else MAX_WORD_LENGTH
            ),
        )
    )
    pipeline.normalizer = normalizer
    pipeline.pre_tokenizer = BertPreTokenizer()
    return pipeline
