"""Vocabularies of words: every word of a text, the most frequent ones first."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tta.data.vocabulary.word_pieces import TokenFile, read_tokens
from tta.errors import InputError

# The names of (padding, end, unknown, begin), whose ids are 0 to 3. The mask may follow.
WORD_SPECIALS = ("[PAD]", "[EOS]", "[UNK]", "[SOS]")
WORD_MASK = "[MASK]"


class WordVocabulary(TokenFile):
    """Words, their ids and how often they occur. It cannot be changed.

    The first four tokens are `WORD_SPECIALS`. The fifth one is the mask if it is `WORD_MASK` and
    its count is 0, which no word before others has. The words follow by falling frequency. So the
    first V ids are the vocabulary of V tokens: one data set serves models of every vocabulary size,
    which replace larger ids by `unk_id`.

    Special tokens are found by position and words by name. A word of the text that looks like a
    special token, such as "[UNK]", is a word with an id of its own.

    The file has one token per line, a blank, and its count:

        [PAD] 0
        [EOS] 1000
        [UNK] 0
        [SOS] 1000
        the 5210
        of 2811

    Args:
        tokens: the special tokens, then the words.
        counts: [V] how often each token occurs in the text that the vocabulary was made from; for
            the unknown token, the occurrences of words that were left out.
        path: the file they came from, for error messages.

    Attributes:
        tokens: tuple of str, special tokens included.
        counts: [V] int64.
        ids: {word: id}, without the special tokens.
        pad_id, eos_id, unk_id, bos_id: 0, 1, 2, 3. See also `mask_id`.
        num_specials: 4, or 5 with a mask.

    Raises:
        InputError: a special token is not in its place, a word is empty, repeated or has white
            space, or a word is more frequent than the one before it. Names the line.
    """

    pad_id, eos_id, unk_id, bos_id = range(len(WORD_SPECIALS))

    def __init__(self, tokens: Any, counts: Any, path: str | None = None):
        self.tokens: tuple[str, ...] = tuple(tokens)
        self.counts = np.array(counts, np.int64)
        self.path = path
        names = " ".join(WORD_SPECIALS)
        for line, name in enumerate(WORD_SPECIALS, start=1):
            token = self.tokens[line - 1 : line]
            if token != (name,):
                rule = f"a vocabulary of words begins with {names}; got {' '.join(token) or 'none'}"
                raise InputError(rule, path, line)
        if len(self.tokens) != len(self.counts):
            rule = f"{len(self.tokens)} tokens need as many counts, not {len(self.counts)}"
            raise InputError(rule, path)
        has_mask = (*self.tokens[4:5], *self.counts[4:5]) == (WORD_MASK, 0)
        self.num_specials = len(WORD_SPECIALS) + has_mask
        self.ids: dict[str, int] = {}
        for number in range(self.num_specials, len(self.tokens)):
            word = self.tokens[number]
            if word.split() != [word]:
                rule = f"expected a word without white space, got {word!r}"
                raise InputError(rule, path, number + 1)
            if self.ids.setdefault(word, number) != number:
                rule = f"duplicate word {word!r}, first on line {self.ids[word] + 1}"
                raise InputError(rule, path, number + 1)
        self._check_counts()
        self.counts.flags.writeable = False

    def _check_counts(self):
        if (self.counts < 0).any():
            line = int(np.argmax(self.counts < 0)) + 1
            raise InputError(
                f"a count must be 0 or more, not {self.counts[line - 1]}", self.path, line
            )
        grows = np.diff(self.counts[self.num_specials :]) > 0
        if grows.any():
            number = self.num_specials + 1 + int(np.argmax(grows))
            before, after = self.counts[number - 1 : number + 1]
            rule = f"words must be in the order of their counts, got {after} after {before}"
            raise InputError(rule, self.path, number + 1)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        num_sentences: int = 0,
        min_count: int = 1,
        max_length: int | None = None,
        has_mask: bool = False,
    ) -> "WordVocabulary":
        """The vocabulary of counted words. Words of the same count are in the order of their names.

        `counts` are {word: occurrences}; that of the begin and end tokens is `num_sentences`. Words
        that occur less often than `min_count`, or have more than `max_length` characters, are left
        out. `has_mask` adds the mask token.
        """
        limit = float("inf") if max_length is None else max_length
        frequent = [w for w, count in counts.items() if count >= min_count and len(w) <= limit]
        frequent.sort(key=lambda word: (-counts[word], word))
        left_out = sum(counts.values()) - sum(counts[word] for word in frequent)
        mask = [WORD_MASK] * has_mask
        specials = [0, num_sentences, left_out, num_sentences, *[0] * has_mask]
        return cls(
            (*WORD_SPECIALS, *mask, *frequent), [*specials, *(counts[word] for word in frequent)]
        )

    def first(self, size: int) -> "WordVocabulary":
        """The vocabulary of the first `size` tokens; the others count as unknown.

        Raises InputError if the size does not hold the special tokens and one word.
        """
        least = self.num_specials
        if size <= least:
            raise InputError(f"a vocabulary of words has more than {least} tokens, not {size}")
        counts = self.counts[:size].copy()
        counts[self.unk_id] += self.counts[size:].sum()
        return type(self)(self.tokens[:size], counts)

    @classmethod
    def from_file(cls, path: Path | str) -> "WordVocabulary":
        """Reads the file that `save` writes; see `tta.data.text.files.open_input`.

        Raises InputError if the file is missing, a pipe, not UTF-8, or not a valid vocabulary.
        """
        tokens, counts = [], []
        for number, line in enumerate(read_tokens(path), start=1):
            token, _, count = line.partition(" ")
            if not (count.isascii() and count.isdigit() and len(count) <= 18):
                rule = f"expected a word, a blank and its count, got {line!r}"
                hint = "; tta create-vocab --tokenizer=words makes such files" * (number == 1)
                raise InputError(rule + hint, path, number)
            tokens.append(token)
            counts.append(int(count))
        return cls(tokens, counts, str(path))

    @property
    def text(self) -> str:
        pairs = zip(self.tokens, self.counts.tolist(), strict=True)
        return "".join(f"{token} {count}\n" for token, count in pairs)

    @cached_property
    def letters(self) -> frozenset[str]:
        """The characters of all words."""
        return frozenset().union(*self.tokens[self.num_specials :])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordVocabulary):
            return NotImplemented
        return self.tokens == other.tokens and np.array_equal(self.counts, other.counts)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def origins(
        self, other: "WordVocabulary", split: Callable[[str], list[str]] = lambda text: [text]
    ) -> list[tuple[int, ...]]:
        """The ids in another vocabulary of each token of this one, as `Vocabulary.origins`.

        It is the unknown token for a word, or a mask, that `other` does not have.
        """
        mask = [4 if other.num_specials > 4 else other.unk_id] * (self.num_specials > 4)
        words = self.tokens[self.num_specials :]
        pieces = [[word] if word in other.ids else split(word) or [""] for word in words]
        ids = [tuple(other.ids.get(piece, other.unk_id) for piece in each) for each in pieces]
        return [*((number,) for number in (*range(len(WORD_SPECIALS)), *mask)), *ids]

    @property
    def continues_word(self) -> np.ndarray:
        """[V] bool, all False: no token continues the word before it."""
        return np.zeros(len(self), bool)

    @property
    def mask_id(self) -> int:
        """4, the id of the mask token; InputError if there is none."""
        if self.num_specials == len(WORD_SPECIALS):
            rule = (
                "this vocabulary of words has no mask token, which masked language modeling needs; "
                "tta create-vocab --mask_token adds it"
            )
            raise InputError(rule, self.path)
        return len(WORD_SPECIALS)
