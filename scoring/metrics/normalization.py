"""How a metric reads a text: as it looks, in lower case, or also without punctuation."""

import unicodedata

from tta.registry import Registry

# Characters that no reader sees: soft hyphens, zero-width spaces, marks of direction. Zero-width
# joiners stay: in some scripts they change a word.
_INVISIBLE = dict.fromkeys(
    [0xAD, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2060, *range(0x2066, 0x206A), 0xFEFF]
)
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
    3. Punctuation and symbols (Unicode's categories P and S) become blanks: "well-known" is two
       words, "U.S." is "u s", "$5" is "5".
    4. Apostrophes stay inside words ("don't") and are removed at their ends. Curly apostrophes
       become straight ones.
    5. Words are separated by single blanks.

    Digits, accents and spellings stay as they are.
    """
    text = unicodedata.normalize("NFKC", composed(text).translate(_APOSTROPHES)).lower()
    text = "".join(" " if _is_punctuation(c) else c for c in text)
    return " ".join(filter(None, (word.strip("'") for word in text.split())))


def _is_punctuation(character):
    return character != "'" and unicodedata.category(character)[0] in "PS"


# By the name that `--normalize` takes. Each maps str to str. Normalizing word by word gives the
# same words as normalizing the whole text.
METRIC_NORMALIZATIONS = Registry("normalize", {"none": composed, "lower": lower, "basic": basic})
