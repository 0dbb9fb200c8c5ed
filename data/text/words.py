"""What a word is in every script: letters with their marks; and what stands around it.

Python's `\\w` leaves out combining marks. So it cuts the vowel signs off Hindi, Tamil or Arabic
words, and the accents off Latin ones in Unicode's form NFD. The properties are those of
`unicodedata`, which agree with `str.lower` and `str.isspace` of the same Python; the package
`regex` would be a dependency more, with another version of Unicode.
"""

import re
import unicodedata

# All marks are in these ranges; Chinese and Korean characters are left out, to save time.
_WITH_MARKS = (
    *(range(0x80, 0x3400), range(0xA000, 0xAC00), range(0xF900, 0x17000)),
    *(range(0x1B000, 0x1F000), range(0xE0000, 0xE0200)),
)


def is_mark(character: str) -> bool:
    """Whether a character belongs to the one before it: a combining mark, or an invisible one.

    They have Unicode's categories M and Cf. Invisible are joiners and marks of direction.
    """
    return not character.isascii() and unicodedata.category(character) in ("Mn", "Mc", "Me", "Cf")


def _mark_class() -> str:
    """The class of a regular expression that has all marks."""
    runs: list[list[int]] = []
    for code in (code for codes in _WITH_MARKS for code in codes if is_mark(chr(code))):
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "[" + "".join(rf"\U{first:08x}-\U{last:08x}" for first, last in runs) + "]"


# For regular expressions: one mark; and a run of letters with their marks, a word without digits.
MARK = _mark_class()
LETTERS = rf"[^\W\d_]+(?:{MARK}+[^\W\d_]*)*"
_LETTERS = re.compile(LETTERS)


def letter_runs(text: str) -> list[str]:
    """The runs of letters in a text, with their marks: "it's" has two."""
    return _LETTERS.findall(text)


def is_letters(text: str) -> bool:
    """Whether a text is letters and their marks only, as `str.isalpha` says of letters alone."""
    return bool(_LETTERS.fullmatch(text))


def is_punctuation(text: str) -> bool:
    """Whether a text has signs, such as punctuation and emoji, and no letter, digit or blank."""
    return any(map(_is_sign, text)) and all(_is_sign(c) or is_mark(c) for c in text)


def split_punctuation(word: str) -> list[str]:
    """A word without the punctuation before and after it, which are words of their own.

    Marks stay with the character before them, a letter or a sign.
    """
    start, end = 0, len(word)
    for place, character in enumerate(word):
        if _is_sign(character) or (is_mark(character) and 0 < start == place):
            start = place + 1
        elif unicodedata.category(character) != "Cf":  # invisible, before a sign or a letter
            break
    place = end
    while place > start:
        place -= 1
        if _is_sign(word[place]):
            end = place
        elif not is_mark(word[place]):
            break
    return [part for part in (word[:start], word[start:end], word[end:]) if part]


def _is_sign(character):
    is_word = character.isalnum() or character == "_"
    return not (is_word or character.isspace() or is_mark(character))
