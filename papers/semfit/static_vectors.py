"""Encodes a text as the mean of its word vectors: GloVe, word2vec, fastText."""

import unicodedata
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tta.choices import KEEP_ACCENTS, STRIP_LATIN
from tta.data.text.files import file_digest
from tta.data.vocabulary import word_tokenizer
from tta.data.vocabulary.normalization import accent_normalizer
from tta.data.vocabulary.words import WordVocabulary
from tta.names import VOCABULARY
from tta.papers.semfit.vectors.fasttext import SubwordVectors
from tta.papers.semfit.vectors.ngrams import NgramVectors
from tta.papers.semfit.vectors.target_vectors import TargetVectors
from tta.papers.semfit.vectors.word_inputs import letters_in
from tta.papers.semfit.vectors.word_vectors import WordVectorFile
from tta.scoring.scorers.arguments import check_choice
from tta.scoring.scorers.inference.signature import digest
from tta.scoring.scorers.scorer import Scorer, split_rows

# Unicode's categories of punctuation and symbols.
PUNCTUATION = "".join(c for c in map(chr, range(0x10000)) if unicodedata.category(c)[0] in "PS")


class StaticVectors(Scorer):
    """Encodes a text as the mean of the vectors of its words, regardless of their context.

    Words are separated by white space; punctuation at their ends is removed. A word is looked up
    unchanged, then in lower case; unknown words are skipped. The file is read for each set of new
    words, and only their vectors are kept: memory grows with the words of the texts, not with the
    file. A text without known words, an unknown word and punctuation have zeros.

    Args:
        path: a GloVe or word2vec file, see `tta.papers.semfit.vectors.word_vectors.WordVectorFile`.

    Raises:
        InputError: the file is missing or malformed, or the vector of a word is not finite.
    """

    representations = ("embed",)
    no_scores = "word vectors give no sentence scores"
    case = "as is, then lower"  # how a word is looked up, for the signature

    def __init__(self, path: Path | str):
        self.name = Path(path).name
        self.path = Path(path)
        self._vectors = {}  # every word looked up so far: [D] float32, or None if unknown
        self._file = self.open(path)

    def open(self, path: Path | str) -> Any:
        """Opens the vectors; what it returns has `size` and `read` of `WordVectorFile`."""
        return WordVectorFile(path)

    def digest(self) -> str:
        """A hash of what the vectors are read from, for the signature."""
        return file_digest(self.path)

    def split(self, text: str) -> list[str]:
        """The words of a text."""
        return split_words(text)

    def forms(self, word: str) -> tuple[str, ...]:
        """The forms in which a word is looked up, in order."""
        return word, word.lower()

    @property
    def settings(self):
        return {
            "type": "word_vectors",
            "size": self._file.size,
            "file": self.digest(),
            "case": self.case,
        }

    def _encode(self, texts, representation, pooling, progress) -> np.ndarray:
        check_choice("pooling", pooling, ("mean",), self.name)
        words = [self.split(text) for text in texts]
        forms = {form for text in words for word in text for form in self.forms(word)}
        if new := forms - self._vectors.keys():
            of_file = self._file.read(new, progress)
            self._vectors.update((form, of_file.get(form)) for form in new)
        means = np.zeros((len(texts), self._file.size), np.float32)
        for mean, text in zip(means, words, strict=True):
            vectors = [vector for word in text if (vector := self._vector(word)) is not None]
            if vectors:
                mean[:] = np.mean(vectors, axis=0, dtype=np.float64)
        return means

    def _encode_words(self, sentences, representation, progress) -> list[np.ndarray]:
        words = [word for sentence in sentences for word in sentence]
        vectors = self.encode(words, representation, progress=progress)
        return split_rows(vectors, [len(sentence) for sentence in sentences])

    def _vector(self, word):
        vectors = (self._vectors[form] for form in self.forms(word))
        return next((vector for vector in vectors if vector is not None), None)


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
    """A folder with the vectors of words: `tta.load("vectors:DIRECTORY")`.

    tta create-vectors wrote it. A text is split into words as its data set was; punctuation is left
    out. A word has its row of `vectors.npy`. A word without a row has the mean of the vectors of
    its n-grams (`--source=fasttext`), or what the network over characters makes of it
    (`input_layer`); of vectors from other sources, it is unknown. Words are lower-cased if the
    folder says so or, without n-grams, if no word of the vocabulary has a capital letter. They keep
    their accents if words of the vocabulary have some.

    Args:
        path: the folder, with `vectors.npy`, `vocab.txt` and what makes vectors of new words.

    Raises:
        InputError: a file is missing or damaged, or the files do not fit each other.
    """

    def open(self, path):
        self._vocabulary = WordVocabulary.from_file(Path(path) / VOCABULARY)
        self._table = TargetVectors(path, self._vocabulary)
        self._letters = letters_in(path)
        if self._letters is not None:
            self._letters.check_size(self._table.size)
            self._letters.check_values()
        self._table.check_values()
        if isinstance(self._letters, NgramVectors):
            self._lower_case = self._letters.settings.lower_case
        else:
            self._lower_case = all(word == word.lower() for word in self._vocabulary.ids)
        self._normalization = STRIP_LATIN if self._lower_case else "bert"
        strip = accent_normalizer(self._lower_case, self._normalization).normalize_str
        if any(not word.isascii() and strip(word) != word for word in self._vocabulary.ids):
            self._normalization = KEEP_ACCENTS
        return _Composed(self._table.size, self._compose)

    @property
    def settings(self):
        return super().settings | {"vocab": digest(self._vocabulary.sha256)}

    @property
    def case(self):
        return "lower" if self._lower_case else "as is"

    def digest(self):
        return self._table.digest + ("" if self._letters is None else self._letters.digest)

    def split(self, text):
        words = word_tokenizer.split_words(text, self._lower_case, self._normalization)
        return [word for word in words if word not in PUNCTUATION]

    def forms(self, word):
        return (word,)

    def _compose(self, words):
        ids = np.array([self._vocabulary.ids.get(word, -1) for word in words], np.int64)
        rows = self._table.array[ids].astype(np.float32)
        new = [word for word, i in zip(words, ids, strict=True) if i < 0]
        rows[ids < 0] = 0 if self._letters is None else self._letters.vectors(new)
        return rows


class _Composed:
    """A function from N words to their vectors [N, m] with the face of `WordVectorFile`."""

    def __init__(self, size: int, vectors: Callable[[Sequence[str]], np.ndarray]):
        self.size, self._vectors = size, vectors

    def read(self, words: Collection[str], progress: bool = False) -> dict[str, np.ndarray]:
        """The vectors of words, without zeros: a word without n-grams is unknown."""
        listed = list(words)
        vectors = self._vectors(listed)
        return {w: vector for w, vector in zip(listed, vectors, strict=True) if vector.any()}


def split_words(text: str) -> list[str]:
    """The words between white space, without punctuation at their ends."""
    words = (word.strip(PUNCTUATION) for word in text.split())
    return [word for word in words if word]
