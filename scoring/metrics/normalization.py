"""How a metric reads a text: as it looks, in lower case, or also without punctuation."""

import itertools
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from rapidfuzz.distance import Levenshtein

from tta.data.text.words import is_mark
from tta.registry import Registry

# Characters that no reader sees: soft hyphens, zero-width spaces, marks of direction, operators
# without a sign. Zero-width joiners stay: in some scripts they change a word.
_INVISIBLE = dict.fromkeys(
    [
        *(0xAD, 0x34F, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, 0xFEFF),
        *(*range(0x202A, 0x202F), *range(0x2060, 0x2065), *range(0x2066, 0x2070)),
    ]
)
# Marks that change only the look of a character: variation selectors, circles and boxes.
_LOOKS = dict.fromkeys(
    [
        *(0x180B, 0x180C, 0x180D, 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)),
        *(0x488, 0x489, 0x1ABE, *range(0x20DD, 0x20E1), *range(0x20E2, 0x20E5)),
        *range(0xA670, 0xA673),
    ]
)
_JOINERS = "\u200c\u200d"
# Characters that are written for an apostrophe.
_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\uff07\u00b4`", "'"))


def composed(text: str) -> str:
    """Makes texts equal that look the same: Unicode's form NFC, without invisible characters."""
    return text if text.isascii() else unicodedata.normalize("NFC", text.translate(_INVISIBLE))


def lower(text: str) -> str:
    """The composed text in lower case."""
    return composed(text).lower()


def basic(text: str) -> str:
    """Removes what speech recognisers often do not write: case, punctuation and symbols.

    In this order:

    1. Unicode's compatibility form NFKC: full-width letters become plain ones, ligatures letters.
    2. Lower case.
    3. Punctuation and symbols (Unicode's categories P and S) become blanks, with the marks that
       belong to them, as in emoji: "well-known" is two words, "U.S." is "u s", "$5" is "5".
    4. Apostrophes stay inside words ("don't") and are removed at their ends. Curly apostrophes
       become straight ones.
    5. Words are separated by single blanks.

    Digits, accents and spellings stay as they are.
    """
    text = unicodedata.normalize("NFKC", composed(text).translate(_APOSTROPHES)).lower()
    if not text.isascii():
        text = text.translate(_LOOKS)
    words = (word.strip("'") for word in "".join(_without_signs(text)).split())
    return " ".join(word for word in words if word.strip(_JOINERS))


def _without_signs(text):
    """Yields the characters of a text, blanks in place of signs, and none of the signs' marks."""
    is_sign = False
    for character in text:
        if is_sign and is_mark(character):
            continue
        is_sign = character != "'" and unicodedata.category(character)[0] in "PS"
        yield " " if is_sign else character


# By the name that `--normalize` takes. Each maps str to str.
METRIC_NORMALIZATIONS = Registry(
    "normalize",
    {
        "none": composed,
        "lower": lower,
        "basic": basic,
        "whisper": "tta.scoring.metrics.whisper_english:normalize",
    },
)
# Those that give the same words word by word as of the whole text.
_BY_WORD = {str, composed, lower, basic}


def parts_of(words: Sequence[str], normalize: Callable[[str], str]) -> list[list[str]]:
    """What a metric compares of each word of a text: nothing (a dash), a part, or several.

    Where neighbours become one part ("twenty one" is "21"), the first of them has it.
    """
    parts = [normalize(word).split() for word in words]
    if normalize in _BY_WORD:
        return parts
    joined = [part for pieces in parts for part in pieces]
    owners = [i for i, pieces in enumerate(parts) for _ in pieces] or [0]
    whole = normalize(" ".join(words)).split()
    words_of: list[list[str]] = [[] for _ in words]
    for block in Levenshtein.opcodes(joined, whole):
        for k, place in enumerate(range(block.dest_start, block.dest_end)):
            at = min(block.src_start + k, max(block.src_end - 1, block.src_start), len(owners) - 1)
            words_of[owners[at]].append(whole[place])
    return words_of


@dataclass(frozen=True)
class ComparedText:
    """The words of a text, as it has them, and the parts of each that a metric compares."""

    words: Sequence[str]
    parts_of_words: Sequence[Sequence[str]]

    @classmethod
    def of(cls, words: Sequence[str], normalize: Callable[[str], str]) -> "ComparedText":
        """The words as a metric's `normalize` reads them."""
        return cls(words, parts_of(words, normalize))

    @cached_property
    def parts(self) -> list[str]:
        """The parts of all words."""
        return [part for of_word in self.parts_of_words for part in of_word]

    @cached_property
    def owners(self) -> list[int]:
        """The index of the word of each part."""
        return [i for i, of_word in enumerate(self.parts_of_words) for _ in of_word]

    def spellings(self, places: Sequence[int]) -> list[str]:
        """The parts at some places, in their order, as the text has them.

        A word all of whose parts are there is spelled as in the text, and others by their parts.
        """
        spelled: list[str] = []
        for i, group in itertools.groupby(places, self.owners.__getitem__):
            of_word = list(group)
            is_whole = len(of_word) == len(self.parts_of_words[i])
            spelled += [self.words[i]] if is_whole else [self.parts[place] for place in of_word]
        return spelled
