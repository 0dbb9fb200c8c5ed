"""The vocabulary: word pieces, one per line, whose line number (from 0) is their id."""

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tta.checked_files import check_regular, read_json_object
from tta.data.text.files import open_output
from tta.data.text.lines import iter_lines
from tta.data.text.words import is_letters
from tta.errors import InputError
from tta.names import TOKENIZER_JSON

# The special tokens of the vocabularies we train, in the order of the original T-TA code.
TTA_SPECIALS = ("[PAD]", "[EOS]", "[UNK]", "[SOS]", "[MASK]")

_BLANK = re.compile(r"[ \t\r\n]")
MAX_VOCABULARY_BYTES = 1 << 26  # after decompression

# The names of (padding, unknown, begin, end, mask) in each family of vocabularies.
_FAMILIES = {
    "T-TA": ("[PAD]", "[UNK]", "[SOS]", "[EOS]", "[MASK]"),
    "BERT": ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
}


def read_tokens(path: Path | str) -> Iterator[str]:
    """Yields the lines of a vocabulary; see `tta.data.text.files.open_input`.

    Raises InputError if the file is missing, a pipe, not UTF-8, or larger than 64 MiB.
    """
    check_regular(path)
    size = 0
    for line in iter_lines(path):
        size += len(line.encode()) + 1
        if size > MAX_VOCABULARY_BYTES:
            raise InputError(f"a vocabulary has at most {MAX_VOCABULARY_BYTES:,} bytes", path)
        yield line


class TokenFile:
    """What vocabularies of word pieces and of words share: a file with a token in each line.

    `tokens` are in the order of their ids, and `ids` has those that text can become.
    """

    tokens: tuple[str, ...]
    ids: Any  # {token: id}

    @property
    def text(self) -> str:
        """The contents of the file that `save` writes."""
        raise NotImplementedError

    def save(self, path: Path | str, overwrite: bool = False) -> None:
        """Writes the file that `from_file` reads, with `tta.data.text.files.open_output`."""
        with open_output(path, overwrite) as file:
            file.write(self.text)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 (hexadecimal) of the file that `save` writes."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self.ids


@dataclass(frozen=True)
class Vocabulary(TokenFile):
    """Word pieces and their ids. Special tokens are found by name, at any position.

    Args:
        tokens: the pieces (str) in the order of their ids. "##" starts a piece inside a word.
        path: the file they came from, for error messages.

    Attributes:
        pad_id, unk_id, bos_id, eos_id, mask_id: ids (int) of the special tokens: `[PAD] [UNK]
            [SOS] [EOS] [MASK]` of T-TA, or `[PAD] [UNK] [CLS] [SEP] [MASK]` of BERT.

    Raises:
        InputError: there is no token, a token is empty, repeated or has a space (names the line),
            or a special token is missing.
    """

    tokens: tuple[str, ...]
    path: str | None = field(default=None, compare=False)

    @cached_property
    def num_words(self) -> int:
        """How many tokens are words: letters alone, without "##"."""
        return sum(map(is_letters, self.tokens))

    def __post_init__(self):
        object.__setattr__(self, "tokens", tuple(self.tokens))
        if not self.tokens:
            raise InputError("a vocabulary needs its special tokens; this one is empty", self.path)
        if "" in self.ids or len(self.ids) < len(self) or _BLANK.search("".join(self.tokens)):
            self._refuse()
        _ = self._special_ids  # A missing special token is an error now, not at first use.

    def _refuse(self):
        """Raises the error of the first token that cannot be one."""
        first_line = {}
        for line, token in enumerate(self.tokens, start=1):
            rule = None
            if not token:
                rule = "expected a token, got an empty line"
            elif _BLANK.search(token):
                rule = f"expected a token without white space, got {token!r}"
            elif token in first_line:
                rule = f"duplicate token {token!r}, first on line {first_line[token]}"
            if rule:
                raise InputError(rule, self.path, line)
            first_line[token] = line

    @classmethod
    def from_file(cls, path: Path | str) -> "Vocabulary":
        """Reads a file in UTF-8, one token per line; see `tta.data.text.files.open_input`.

        `tokenizer.json` of Hugging Face holds the tokens of its WordPiece and added ones. Raises
        InputError as `read_tokens`, or it is not a valid vocabulary.
        """
        if Path(path).name == TOKENIZER_JSON:
            return cls(_tokens_of_json(path), path=str(path))
        return cls(tuple(read_tokens(path)), path=str(path))

    def padded(self, size: int) -> "Vocabulary":
        """This vocabulary with tokens that no text has, for a model with `size` rows.

        Tables of Hugging Face's models may have more rows than there are pieces, for speed.
        """
        numbers = range(len(self), size)
        return Vocabulary((*self.tokens, *(f"[padding{number}]" for number in numbers)), self.path)

    @property
    def text(self) -> str:
        return "".join(f"{token}\n" for token in self.tokens)

    @cached_property
    def ids(self) -> dict[str, int]:
        """{token: id}."""
        return {token: number for number, token in enumerate(self.tokens)}

    @cached_property
    def _special_ids(self):
        """The ids of (padding, unknown, begin, end, mask)."""
        needs = []
        for family, names in _FAMILIES.items():
            missing = [name for name in names if name not in self.ids]
            if not missing:
                return tuple(self.ids[name] for name in names)
            needs.append(f"a {family} vocabulary needs {' '.join(missing)}")
        raise InputError(f"special tokens are missing: {', '.join(needs)}", self.path)

    def origins(
        self, other: "Vocabulary", split: Callable[[str], list[str]] = lambda text: [text]
    ) -> list[tuple[int, ...]]:
        """Finds the ids in another vocabulary that make up each piece of this one.

        These are, for each piece: the special token with the same role; the same piece if `other`
        has it; else the longest pieces, taken from the left, that make it up; else the unknown
        token. `split` is how the other's tokenizer normalizes a text and splits it into words.
        """
        roles = dict(zip(self._special_ids, other._special_ids, strict=True))
        return [
            (roles[number],) if number in roles else other._pieces_of(token, split)
            for number, token in enumerate(self.tokens)
        ]

    def _pieces_of(self, piece, split):
        """The ids that make up a piece of another vocabulary, as `origins` says; a tuple."""
        if piece in self.ids:
            return (self.ids[piece],)
        inside = "##" if piece.startswith("##") else ""
        words = split(piece.removeprefix(inside))
        words = [inside + word for word in words[:1]] + words[1:]
        return sum(map(self.longest_pieces, words), ()) or (self.unk_id,)

    def longest_pieces(self, word: str) -> tuple[int, ...]:
        """Splits a word, or a piece inside a word ("##s"), as WordPiece does.

        The ids are those of the longest pieces, taken from the left; the unknown token if a rest
        has no piece.
        """
        inside, ids = ("##", []) if word[:2] == "##" != word else ("", [])  # "##" is a whole word
        start = len(inside)
        while start < len(word):
            stops = range(min(len(word), start + self._longest), start, -1)
            stop = next((n for n in stops if inside + word[start:n] in self.ids), 0)
            if not stop:
                return (self.unk_id,)
            ids.append(self.ids[inside + word[start:stop]])
            start, inside = stop, "##"
        return tuple(ids)

    @cached_property
    def _longest(self):
        return max(map(len, self.tokens))

    @property
    def is_of_bert(self) -> bool:
        """Whether its special tokens are BERT's."""
        return self.tokens[self.bos_id] == _FAMILIES["BERT"][2]

    @cached_property
    def letters(self) -> frozenset[str]:
        """The characters of all pieces but the special tokens."""
        special = set(self._special_ids)
        pieces = (t for number, t in enumerate(self.tokens) if number not in special)
        return frozenset("".join(token.removeprefix("##") or token for token in pieces))

    @cached_property
    def continues_word(self) -> np.ndarray:
        """[len] bool: whether a piece continues the word of the piece before it."""
        return np.array([token.startswith("##") for token in self.tokens])

    pad_id = property(lambda self: self._special_ids[0])
    unk_id = property(lambda self: self._special_ids[1])
    bos_id = property(lambda self: self._special_ids[2])
    eos_id = property(lambda self: self._special_ids[3])
    mask_id = property(lambda self: self._special_ids[4])


def _tokens_of_json(path):
    """The tokens in `tokenizer.json`, in the order of their ids."""
    values = read_json_object(path)
    ids = {}
    with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
        ids |= values["model"]["vocab"]
        ids |= {token["content"]: token["id"] for token in values.get("added_tokens") or []}
    kinds = (str, int)
    tokens = {i: token for token, i in ids.items() if (type(token), type(i)) == kinds}
    if not tokens or sorted(tokens) != list(range(len(ids))):
        raise InputError("expected model.vocab with the ids 0 to n - 1, each once", path)
    return tuple(tokens[number] for number in range(len(tokens)))
