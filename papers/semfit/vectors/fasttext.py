"""fastText's vectors of words and their character n-grams, read or trained by gensim."""

import mmap
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tta.checked_files import reading
from tta.data.text.files import check_rereadable, open_input
from tta.errors import InputError
from tta.papers.semfit.vectors.token_vectors import from_gensim, train_by_gensim

LINE_END = "</s>"  # how fastText names the end of a line

_FIRST_BYTES = b"\xba\x16\x4f\x2f"  # of a binary file


# After the first bytes and the version: the settings, and the sizes of the dictionary.
_SETTINGS = struct.Struct("<12id")
_DICTIONARY = struct.Struct("<3i2q")
_ENTRY_BYTES = 9  # after the zero that ends a word
_MATRIX = struct.Struct("<?2q")


class SubwordVectors:
    """Vectors of any words, composed of their own vectors and those of their n-grams.

    Args:
        keyed_vectors: gensim's `FastTextKeyedVectors`.

    Attributes:
        size: m, dimensions of a vector.
        min_n, max_n: the shortest and the longest n-gram, in characters; 0 and 0 without n-grams.
        ngrams: [buckets, m] float32, the vectors of n-grams; no row without n-grams.
    """

    def __init__(self, keyed_vectors: Any):
        self._vectors = keyed_vectors
        self.size: int = keyed_vectors.vector_size
        self.min_n: int = keyed_vectors.min_n
        self.max_n: int = keyed_vectors.max_n
        self.ngrams: np.ndarray = keyed_vectors.vectors_ngrams
        if not (keyed_vectors.bucket and self.max_n):
            self.min_n = self.max_n = 0
            self.ngrams = np.zeros((0, self.size), np.float32)

    @classmethod
    def read(cls, path: Path | str) -> "SubwordVectors":
        """Reads a binary file (.bin) of Facebook's fastText. It is held in memory.

        Raises InputError if gensim is missing, or the file is missing, not of fastText, compressed,
        quantized, truncated or damaged.
        """
        load = from_gensim("fasttext", "load_facebook_vectors")
        check_rereadable(path)
        with open_input(path) as stream:
            if stream.read(len(_FIRST_BYTES)) != _FIRST_BYTES:
                raise InputError("not a binary file (.bin) of fastText", path)
        with open(path, "rb") as stored:  # gensim maps the file into memory
            if stored.read(len(_FIRST_BYTES)) != _FIRST_BYTES:
                raise InputError("compressed; unpack it first (a .bin is read as it is)", path)
            check_sizes(stored, path)
        # gensim trusts the file, so any error may follow.
        with reading("not a readable fastText file", path, Exception):
            vectors = cls(load(str(path)))
        for array in (vectors._vectors.vectors, vectors.ngrams):
            if not np.isfinite(array).all():
                raise InputError("a vector is not finite", path)
        return vectors

    @classmethod
    def train(
        cls,
        sentences: Iterable[Sequence[str]],
        size: int,
        num_buckets: int,
        **training: Any,
    ) -> "SubwordVectors":
        """Trains vectors by skip-gram with negative sampling, with n-grams of 3 to 6 characters.

        `sentences` are lists of words. `num_buckets` are rows for n-grams. More buckets: fewer
        n-grams share one. The other arguments are as in `train_by_gensim`. Raises InputError if
        gensim is missing, or there is no word.
        """
        kind = from_gensim("fasttext", "FastText")
        training |= {"min_n": 3, "max_n": 6, "bucket": num_buckets}
        return cls(train_by_gensim(kind, "word", sentences, size, **training))

    def vectors(self, words: Sequence[str]) -> np.ndarray:
        """The vectors of words: [N, m] float32.

        The vector of a known word is the mean of its own vector and those of its n-grams; of an
        unknown word, the mean of those of its n-grams, or zeros without n-grams.
        """
        vectors = np.zeros((len(words), self.size), np.float32)
        for row, word in zip(vectors, words, strict=True):
            has_ngrams = len(self.ngrams) and len(word) + len("<>") >= self.min_n
            if word in self._vectors.key_to_index or has_ngrams:
                row[:] = self._vectors.get_vector(word)
        return vectors


def check_sizes(stored: BinaryIO, path: Path | str) -> None:
    """Checks the sizes that an open file declares against its bytes; gensim trusts them.

    Raises InputError if the file ends early, is quantized, or its sizes contradict each other.
    """
    ends = InputError("not a readable fastText file: it ends early", path)
    with mmap.mmap(stored.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            settings = _SETTINGS.unpack_from(data, 8)
            position = 8 + _SETTINGS.size
            num_entries, num_words, _, _, num_pruned = _DICTIONARY.unpack_from(data, position)
            position += _DICTIONARY.size
            for _ in range(num_entries):
                end = data.find(b"\0", position)
                if end < 0:
                    raise ends
                position = end + 1 + _ENTRY_BYTES
            position += 8 * max(0, num_pruned)
            is_quantized, num_rows, num_columns = _MATRIX.unpack_from(data, position)
        except (struct.error, OverflowError):
            raise ends from None
        if is_quantized:
            raise InputError("a quantized fastText file; use the .bin file", path)
        size, num_buckets = settings[0], settings[8]
        if min(num_entries, num_words, size) < 1 or num_columns != size or num_buckets < 0:
            raise InputError("not a readable fastText file: its sizes are wrong", path)
        if num_rows != num_words + num_buckets:
            rule = f"{num_rows:,} rows for {num_words:,} words and {num_buckets:,} buckets"
            raise InputError(f"not a readable fastText file: {rule}", path)
        if len(data) - position - _MATRIX.size < 4 * num_rows * size:
            raise ends
