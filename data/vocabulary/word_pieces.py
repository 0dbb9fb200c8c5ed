"""The vocabulary: word pieces, one a line, whose line number (from 0) is their id."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tta.data.text.files import iter_lines, open_output
from tta.errors import InputError

# What this project writes: the specials first, in the order of the original T-TA code.
TTA_SPECIALS = ("[PAD]", "[EOS]", "[UNK]", "[SOS]", "[MASK]")

# The names of (padding, unknown, begin, end, mask) in each family of vocabularies.
_FAMILIES = {
    "T-TA": ("[PAD]", "[UNK]", "[SOS]", "[EOS]", "[MASK]"),
    "BERT": ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
}


@dataclass(frozen=True)
class Vocabulary:
    """Word pieces and their ids; specials are found by name, wherever they stand.

    Args:
        tokens: the pieces (str) in the order of their ids; "##" starts a piece inside a word.
        path: the file they came from, for error messages.

    Attributes:
        pad_id, unk_id, bos_id, eos_id, mask_id: ids (int) of the special tokens: `[PAD] [UNK]
            [SOS] [EOS] [MASK]` of T-TA, or `[PAD] [UNK] [CLS] [SEP] [MASK]` of BERT.

    Raises:
        InputError: no token; an empty or repeated one, or one with a space (names its line); or a
            missing special.
    """

    tokens: tuple
    path: str | None = field(default=None, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "tokens", tuple(self.tokens))
        if not self.tokens:
            raise InputError(
                "a vocabulary needs at least its special tokens; it is empty", self.path
            )
        first_line = {}
        for line, token in enumerate(self.tokens, start=1):
            if not token:
                raise InputError("an empty line is no token", self.path, line)
            if any(c in token for c in " \t\r\n"):
                raise InputError(f"a token has no white space, got {token!r}", self.path, line)
            if token in first_line:
                raise InputError(
                    f"token {token!r} is already on line {first_line[token]}", self.path, line
                )
            first_line[token] = line
        _ = self._special_ids  # A missing special is an error now, not at first use.

    @classmethod
    def from_file(cls, path):
        """Reads a vocabulary file, UTF-8, one token a line.

        Raises:
            InputError: the file is missing, no UTF-8 text, or no valid vocabulary.
        """
        return cls(iter_lines(path), path=str(path))

    def save(self, path, overwrite=False):
        """Writes the vocabulary as `from_file` reads it.

        Raises:
            InputError: the file exists and `overwrite` is false, or it cannot be written.
        """
        with open_output(path, overwrite) as file:
            self.write(file)

    def write(self, file):
        """Writes the vocabulary to an open text file."""
        file.writelines(f"{token}\n" for token in self.tokens)

    def __len__(self):
        return len(self.tokens)

    def __contains__(self, token):
        return token in self.ids

    @cached_property
    def ids(self):
        """dict: token -> id."""
        return {token: number for number, token in enumerate(self.tokens)}

    @cached_property
    def sha256(self):
        """Fingerprint (hexadecimal) of the tokens: sha256sum of the file that `save` writes."""
        return hashlib.sha256("".join(f"{t}\n" for t in self.tokens).encode()).hexdigest()

    @cached_property
    def _special_ids(self):
        """The ids of (padding, unknown, begin, end, mask)."""
        missing = {
            family: [name for name in names if name not in self.ids]
            for family, names in _FAMILIES.items()
        }
        for family, names in _FAMILIES.items():
            if not missing[family]:
                return tuple(self.ids[name] for name in names)
        lacks = "; ".join(f"as {family}'s it lacks {' '.join(m)}" for family, m in missing.items())
        raise InputError(f"special tokens are missing: {lacks}", self.path)

    def origins(self, other):
        """What each piece is made of in another vocabulary.

        Args:
            other: `Vocabulary`.

        Returns:
            list of tuples of the other's ids, one tuple a piece: the special token of the same
            part, the piece itself where the other has it, or the longest pieces from its left that
            make it up; else the unknown token.
        """
        parts = dict(zip(self._special_ids, other._special_ids, strict=True))
        return [
            (parts[number],) if number in parts else other._longest_pieces(token)
            for number, token in enumerate(self.tokens)
        ]

    def _longest_pieces(self, piece):
        """Ids of the pieces that WordPiece makes of one, which may start inside a word."""
        ids = []
        while piece not in self.ids:
            lengths = range(len(piece), 0, -1)
            longest = next((n for n in lengths if piece[:n] in self.ids), 0)
            if longest <= piece.startswith("##") * 2:
                return (self.unk_id,)
            ids.append(self.ids[piece[:longest]])
            piece = "##" + piece[longest:]
        return (*ids, self.ids[piece])

    @cached_property
    def continues_word(self):
        """[len] bool array: whether a piece goes on with the word of the one before it."""
        return np.array([token.startswith("##") for token in self.tokens])

    pad_id = property(lambda self: self._special_ids[0])
    unk_id = property(lambda self: self._special_ids[1])
    bos_id = property(lambda self: self._special_ids[2])
    eos_id = property(lambda self: self._special_ids[3])
    mask_id = property(lambda self: self._special_ids[4])

    @property
    def special_ids(self):
        """frozenset of the ids of the special tokens."""
        return frozenset(self._special_ids)
