"""Encodes a text as the mean of vectors that also know words never seen: fastText's."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import numpy as np

from tta.data.vectors.fasttext import SubwordVectors
from tta.data.vectors.ngrams import NgramVectors
from tta.data.vectors.target_vectors import TargetVectors
from tta.data.vocabulary.word_tokenizer import split_words
from tta.data.vocabulary.words import WordVocabulary
from tta.names import VOCABULARY
from tta.scoring.scorers.static_vectors import PUNCTUATION, StaticVectors


class FastTextVectors(StaticVectors):
    """A binary file of fastText: `tta.load("fasttext:FILE.bin")`.

    Each word is looked up unchanged. Its vector is the mean of its own vector, if the file has it,
    and those of its character n-grams. The file is held in memory.

    Args:
        path: the file, see `SubwordVectors.read`.

    Raises:
        InputError: gensim is missing, or the file is missing or malformed.
    """

    case = "as is"

    def open(self, path):
        vectors = SubwordVectors.read(path)
        return _Composed(vectors.size, vectors.vectors)

    def forms(self, word):
        return (word,)


class VectorsFolder(StaticVectors):
    """A folder that tta-create-vectors --source=fasttext wrote: `tta.load("vectors:DIRECTORY")`.

    A text is split into words as its data set was; punctuation is left out. A word has its row of
    `vectors.npy`, and a word without a row the mean of the vectors of its n-grams.

    Args:
        path: the folder, with `vectors.npy`, `vocab.txt`, `ngrams.npy` and `ngrams.json`.

    Raises:
        InputError: a file is missing or damaged, or the files do not fit each other.
    """

    def open(self, path):
        self._vocabulary = WordVocabulary.from_file(Path(path) / VOCABULARY)
        self._table = TargetVectors(path, self._vocabulary)
        self._ngrams = NgramVectors(path)
        self._ngrams.check_size(self._table.size)
        for vectors in (self._table, self._ngrams):
            vectors.check_values()
        return _Composed(self._table.size, self._compose)

    @property
    def case(self):
        return "lower" if self._ngrams.settings.lower_case else "as is"

    def digest(self):
        return self._table.digest + self._ngrams.digest

    def split(self, text):
        words = split_words(text, self._ngrams.settings.lower_case)
        return [word for word in words if word not in PUNCTUATION]

    def forms(self, word):
        return (word,)

    def _compose(self, words):
        ids = np.array([self._vocabulary.ids.get(word, -1) for word in words], np.int64)
        made = self._table.array[ids].astype(np.float32)
        made[ids < 0] = self._ngrams.vectors([w for w, i in zip(words, ids, strict=True) if i < 0])
        return made


class _Composed:
    """A function from N words to their vectors [N, m] with the face of `WordVectorFile`."""

    def __init__(self, size: int, vectors: Callable[[Sequence[str]], np.ndarray]):
        self.size, self._vectors = size, vectors

    def read(self, words: Collection[str], progress: bool = False) -> dict[str, np.ndarray]:
        """The vectors of words, without zeros: a word without n-grams is unknown."""
        listed = list(words)
        vectors = self._vectors(listed)
        return {w: vector for w, vector in zip(listed, vectors, strict=True) if vector.any()}
