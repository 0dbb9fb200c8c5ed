"""What a model reads of a word: its vector, or its characters. Both work for words never seen.

B batch, T tokens, V words in the vocabulary, m dimensions of a vector.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tta.data.vocabulary.word_tokenizer import WordTokenizer
from tta.errors import InputError
from tta.names import CHARACTER_NETWORK, NGRAMS, NGRAMS_SETTINGS
from tta.papers.semfit.vectors.character_network import (
    BEGIN_SENTENCE,
    END_SENTENCE,
    WORD_CHARACTERS,
    CharacterNetwork,
    spell,
)
from tta.papers.semfit.vectors.ngrams import NgramVectors
from tta.papers.semfit.vectors.target_vectors import NewWordVectors, TargetVectors, look_up


class WordVectorInputs:
    """The vectors of words: rows of a table, and for new words what is made from their letters.

    New words are those of a tokenizer with an open vocabulary, with ids of V or more.

    Args:
        vectors: the rows of the words in the vocabulary.
        tokenizer: knows the new words; None if there are none, as in a data set.
        letters: makes the vectors of new words, from their n-grams or by a network over their
            characters. Without it (None), the vector of a new word is zeros.

    Attributes:
        size: m.

    Raises:
        InputError: the vectors of words and of new words have different sizes.
    """

    def __init__(
        self,
        vectors: TargetVectors,
        tokenizer: WordTokenizer | None = None,
        letters: NewWordVectors | None = None,
    ):
        if letters is not None:
            letters.check_size(vectors.size)
        self.size = vectors.size
        self._vectors, self._tokenizer, self._letters = vectors, tokenizer, letters

    def rows(self, ids: np.ndarray) -> np.ndarray:
        """The vectors of ids: [B, T] int32 -> [B, T, m], in the type of the table.

        Raises InputError if an id of V or more is not a new word of the tokenizer.
        """
        table = self._vectors.array
        is_new = ids >= len(table)
        rows = table[np.where(is_new, 0, ids)]
        if is_new.any():
            if self._tokenizer is None:
                raise InputError(f"id {ids.max()} is not in a vocabulary of {len(table)}")
            numbers, position = np.unique(ids[is_new], return_inverse=True)
            words = self._tokenizer.pieces(numbers)
            rows[is_new] = 0 if self._letters is None else self._letters.vectors(words)[position]
        return rows

    def look_up(self, ids: Any) -> Any:
        """As `rows`, inside a TensorFlow graph or not: [B, T] int32 -> [B, T, m]."""
        return look_up(self.rows, ids, self._vectors.array.dtype, self.size)


def word_vectors_in(directory: Path | str, tokenizer: Any) -> WordVectorInputs:
    """The vectors in a folder, those of new words included; errors as in the classes it makes."""
    vectors = TargetVectors(directory, tokenizer.vocabulary)
    grows = isinstance(tokenizer, WordTokenizer)
    return WordVectorInputs(vectors, tokenizer if grows else None, letters_in(directory))


def letters_in(directory: Path | str) -> NewWordVectors | None:
    """What makes the vectors of new words in a folder; None if it has neither of the two.

    Raises InputError if a file is missing or damaged.
    """
    kinds = {NgramVectors: (NGRAMS, NGRAMS_SETTINGS), CharacterNetwork: (CHARACTER_NETWORK,)}
    for kind, names in kinds.items():
        if any((Path(directory) / name).exists() for name in names):
            return kind(directory)
    return None


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

        Raises InputError if an id is neither in the vocabulary nor a new word of the tokenizer.
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
        spelled = np.zeros((len(numbers), WORD_CHARACTERS), np.int32)
        for row, number, word in zip(
            spelled, numbers, self._tokenizer.pieces(numbers), strict=True
        ):
            if number in signs:
                row[:] = spell([signs[number]])
            elif number != vocabulary.pad_id:
                row[:] = spell(b"" if number == vocabulary.unk_id else word.encode())
        return spelled


class VectorFeature:
    """The vectors of words, as one of `TOKEN_FEATURES`."""

    open = TargetVectors

    @staticmethod
    def of_data(config: Any, tokenizer: Any, vectors: Any) -> Callable[[Any], Any]:
        return vectors.look_up

    @staticmethod
    def of_model(config: Any, tokenizer: Any, directory: Path | str) -> Callable[[Any], Any]:
        return word_vectors_in(directory, tokenizer).look_up


class CharacterFeature:
    """The characters of words, as one of `TOKEN_FEATURES`.

    Raises InputError if the tokenizer splits into pieces.
    """

    @staticmethod
    def of_data(config: Any, tokenizer: Any, vectors: Any) -> Callable[[Any], Any]:
        if config.tokenizer != "words":
            raise InputError("input_layer characters needs a data set of words (--tokenizer=words)")
        return CharacterInputs(tokenizer).look_up

    of_model = of_data
