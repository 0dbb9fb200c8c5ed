"""Accents, which may be stripped, and marks that are letters, which may not.

A mark above or below a Latin or Greek letter is an accent. In other scripts, such as those of
Hindi, Thai, Arabic and Japanese, marks are vowels, tones or parts of letters. Words need them.
"""

import re
import unicodedata

_LETTERS = (
    "A-Za-z\u00aa\u00ba\u00c0-\u024f\u0250-\u02af\u1d00-\u1dbf\u1e00-\u1eff\u2c60-\u2c7f"
    "\ua720-\ua7ff\uab30-\uab6f\uff21-\uff3a\uff41-\uff5a\u0370-\u03ff\u1f00-\u1fff"
)
_MARKS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
# Finds accents in decomposed text (NFD): also a regular expression of the package `tokenizers`.
ACCENTS = f"(?<=[{_LETTERS}])[{_MARKS}]+"


def without_accents(text: str) -> str:
    """A text without accents, composed (NFC)."""
    text = re.sub(ACCENTS, "", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFC", text)
