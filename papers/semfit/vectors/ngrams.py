"""Vectors of words from the vectors of their character n-grams, as fastText makes them.

Bojanowski, Grave, Joulin and Mikolov (2017), "Enriching Word Vectors with Subword Information",
section 3.2. Two files: `ngrams.npy` has the vectors, one row per bucket, `ngrams.json` the lengths
of the n-grams:

    {"min_n": 3, "max_n": 6, "lower_case": false}
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tta.checked_files import read_json_object
from tta.data.text.files import file_digest
from tta.errors import InputError
from tta.names import NGRAMS, NGRAMS_SETTINGS
from tta.papers.semfit.vectors.target_vectors import NewWordVectors, check_vectors, map_vectors

_BLOCK_WORDS = 4096
_FNV_OFFSET, _FNV_PRIME = 2166136261, 16777619


@dataclass(frozen=True)
class NgramSettings:
    """How words are cut into n-grams.

    Attributes:
        min_n, max_n: the shortest and the longest n-gram, in characters. 0 and 0: no n-grams.
        lower_case: whether the words were lower-cased.

    Raises:
        InputError: a value has the wrong type or is out of bounds.
    """

    min_n: int = 3
    max_n: int = 6
    lower_case: bool = False

    def __post_init__(self):
        for name in ("min_n", "max_n"):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= 100:
                raise InputError(f"{name} must be an integer between 0 and 100, not {value!r}")
        if self.min_n > self.max_n:
            raise InputError(f"min_n is {self.min_n}, more than max_n, {self.max_n}")
        if type(self.lower_case) is not bool:
            raise InputError(f"lower_case must be true or false, not {self.lower_case!r}")

    @classmethod
    def read(cls, path: Path) -> "NgramSettings":
        """Reads `ngrams.json`. Raises InputError if the file is missing or malformed."""
        values = read_json_object(path)
        if values.keys() != cls.__dataclass_fields__.keys():
            names = ", ".join(cls.__dataclass_fields__)
            raise InputError(f"expected the keys {names}, got {', '.join(values)}", path)
        try:
            return cls(**values)
        except InputError as error:
            raise InputError(error.rule, path) from None

    @property
    def text(self) -> str:
        """The contents of `ngrams.json`."""
        return f"{json.dumps(asdict(self))}\n"


def ngram_hashes(word: str, min_n: int, max_n: int) -> list[int]:
    """The hashes (uint32) of the character n-grams of a word.

    The n-grams are those of "<word>" with `min_n` to `max_n` characters (code points), from left to
    right. The hash is FNV-1a over UTF-8, with one difference that is fastText's: a byte above 127
    is read as a signed number, and its sign fills the upper 24 bits. A single "<" or ">" is no
    n-gram.
    """
    letters = [letter.encode("utf-8") for letter in f"<{word}>"]
    hashes = []
    for start in range(len(letters)):
        value = _FNV_OFFSET
        for length, letter in enumerate(letters[start : start + max_n], start=1):
            for byte in letter:
                value ^= byte | 0xFFFFFF00 if byte > 127 else byte
                value = value * _FNV_PRIME & 0xFFFFFFFF
            at_border = start == 0 or start + length == len(letters)
            if length >= max(min_n, 1) and not (length == 1 and at_border):
                hashes.append(value)
    return hashes


class NgramVectors(NewWordVectors):
    """The vectors of n-grams in a folder, mapped into memory.

    Args:
        directory: has `ngrams.npy` and `ngrams.json`.

    Attributes:
        path: of `ngrams.npy`.
        array: [buckets, m] float16 or float32, read-only.
        settings: `NgramSettings`.
        size: m.

    Raises:
        InputError: a file is missing or damaged.
    """

    def __init__(self, directory: Path | str):
        self.path = Path(directory) / NGRAMS
        self._settings_path = Path(directory) / NGRAMS_SETTINGS
        self.array = map_vectors(self.path)
        self.settings = NgramSettings.read(self._settings_path)
        self.size = self.array.shape[1]

    def check_values(self) -> None:
        """Reads all vectors; raises InputError if a number is not finite, or all are 0."""
        check_vectors(self.array, self.path, lambda row: f"bucket {row:,}")

    @cached_property
    def digest(self) -> str:
        return file_digest(self.path) + file_digest(self._settings_path)

    def vectors(self, words: Sequence[str]) -> np.ndarray:
        """The mean of the vectors of each word's n-grams; zeros without n-grams: [N, m] float32."""
        vectors = np.zeros((len(words), self.size), np.float32)
        for start in range(0, len(words), _BLOCK_WORDS):
            self._add(words[start : start + _BLOCK_WORDS], vectors[start : start + _BLOCK_WORDS])
        return vectors

    def _add(self, words, made):
        settings = self.settings
        hashes = [ngram_hashes(word, settings.min_n, settings.max_n) for word in words]
        counts = np.array([len(row) for row in hashes])
        has_ngrams = counts > 0
        if not has_ngrams.any():
            return
        flat = np.array([value for row in hashes for value in row], np.uint32)
        rows = np.asarray(self.array[flat % len(self.array)], np.float32)
        counts = counts[has_ngrams]
        sums = np.add.reduceat(rows, np.cumsum(counts) - counts, axis=0)
        made[has_ngrams] = sums / counts[:, None].astype(np.float32)
