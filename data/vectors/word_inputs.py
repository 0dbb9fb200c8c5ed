"""What a model reads of a word: its vector, or its characters. Both work for words never seen.

B batch, T tokens, V words in the vocabulary, m dimensions of a vector.
"""

from pathlib import Path
from typing import Any

import numpy as np

from tta.data.vectors.ngrams import NgramVectors
from tta.data.vectors.target_vectors import TargetVectors, look_up
from tta.data.vocabulary.word_tokenizer import WordTokenizer
from tta.errors import InputError
from tta.names import NGRAMS

# The characters of a word, as in ELMo: bytes are 0 to 255.
WORD_CHARACTERS = 50  # a word; its first 48 bytes between a begin and an end
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PAD_CHARACTER = range(256, 261)
NUM_CHARACTERS = 262  # different values in `CharacterInputs`: 0, then all of the above plus 1


class WordVectorInputs:
    """The vectors of words: rows of a table, and for new words the mean of their n-grams.

    New words are those of a tokenizer with an open vocabulary, with ids of V or more.

    Args:
        vectors: the rows of the words in the vocabulary.
        tokenizer: knows the new words; None if there are none, as in a data set.
        ngrams: the vectors of n-grams. Without them (None), the vector of a new word is zeros.

    Attributes:
        size: m.

    Raises:
        InputError: the vectors of words and of n-grams have different sizes.
    """

    def __init__(
        self,
        vectors: TargetVectors,
        tokenizer: WordTokenizer | None = None,
        ngrams: NgramVectors | None = None,
    ):
        if ngrams is not None:
            ngrams.check_size(vectors.size)
        self.size = vectors.size
        self._vectors, self._tokenizer, self._ngrams = vectors, tokenizer, ngrams

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The vectors of ids: [B, T] int32 -> [B, T, m], in the type of the table.

        Raises:
            InputError: an id of V or more is not a new word of the tokenizer.
        """
        table = self._vectors.array
        is_new = ids >= len(table)
        found = table[np.where(is_new, 0, ids)]
        if is_new.any():
            if self._tokenizer is None:
                raise InputError(f"id {ids.max()} is not in a vocabulary of {len(table)}")
            numbers, position = np.unique(ids[is_new], return_inverse=True)
            words = self._tokenizer.pieces(numbers)
            found[is_new] = 0 if self._ngrams is None else self._ngrams.vectors(words)[position]
        return found

    def look_up(self, ids: Any) -> Any:
        """As `rows`, inside a TensorFlow graph or not: [B, T] int32 -> [B, T, m]."""
        return look_up(self.rows, ids, self._vectors.array.dtype, self.size)


def word_vectors_in(directory: Path | str, tokenizer: Any) -> WordVectorInputs:
    """The vectors in a folder, those of new words included; errors as in the classes it makes."""
    vectors = TargetVectors(directory, tokenizer.vocabulary)
    ngrams = NgramVectors(directory) if (Path(directory) / NGRAMS).exists() else None
    grows = isinstance(tokenizer, WordTokenizer)
    return WordVectorInputs(vectors, tokenizer if grows else None, ngrams)


class CharacterInputs:
    """The characters of words, as in ELMo (Peters et al. 2018).

    A word is its first 48 bytes in UTF-8, 0 to 255, between 258 (begin of the word) and 259 (end),
    then 260 up to 50 numbers. The begin and the end of a sentence are words of one character, 256
    and 257. An unknown word has no character. 1 is added to all numbers: 0 is the padding of a
    batch, all 50 numbers of a padding token.

    Args:
        tokenizer: the words of ids, new words included.
    """

    size = WORD_CHARACTERS

    def __init__(self, tokenizer: WordTokenizer):
        self._tokenizer = tokenizer

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The characters of ids: [B, T] int32 -> [B, T, 50] int32, 0 to 261.

        Raises:
            InputError: an id is neither in the vocabulary nor a new word of the tokenizer.
        """
        numbers, position = np.unique(ids, return_inverse=True)
        return self._spelled(numbers)[position.reshape(ids.shape)]

    def look_up(self, ids: Any) -> Any:
        """As `rows`, inside a TensorFlow graph or not: [B, T] int32 -> [B, T, 50] int32."""
        return look_up(self.rows, ids, np.int32, self.size)

    def _spelled(self, numbers):
        """The characters of different ids: [N] -> [N, 50]."""
        vocabulary = self._tokenizer.vocabulary
        signs = {vocabulary.bos_id: BEGIN_SENTENCE, vocabulary.eos_id: END_SENTENCE}
        spelled = np.full((len(numbers), WORD_CHARACTERS), PAD_CHARACTER, np.int32)
        for row, number, word in zip(
            spelled, numbers, self._tokenizer.pieces(numbers), strict=True
        ):
            if number in signs:
                middle = [signs[number]]
            else:
                letters = b"" if number == vocabulary.unk_id else word.encode()
                middle = list(letters[: WORD_CHARACTERS - 2])
            row[: len(middle) + 2] = [BEGIN_WORD, *middle, END_WORD]
        spelled += 1
        spelled[numbers == vocabulary.pad_id] = 0
        return spelled
