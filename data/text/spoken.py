"""The spoken form of a sentence."""

import re
import unicodedata

_STRAIGHT_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"))
_ACCENTS = re.compile("[\u0300-\u036f]")
_SIGNS = "$£€¥¢%‰+=\xd7÷±°@#"  # read aloud as words
_NO_SPOKEN_FORM = re.compile(f"[^\\W_a-z]|[{_SIGNS}]")
_SPOKEN_WORD = re.compile("[a-z]+(?:'[a-z]+)*")
_WORD = re.compile("[^' ]+(?:'[^' ]+)*")


def spoken_form(line: str, strip_accents: bool = True) -> str | None:
    """Turns a written sentence into what a speech recogniser would print for it.

    The result has lower-case letters, apostrophes inside words, and single spaces. Curly
    apostrophes become straight ones. Hyphens, dashes and all other punctuation become spaces
    ("U.S." is "u s"). With `strip_accents`, letters are a to z, and "&" becomes "and", as English
    recognisers print. Otherwise letters of all languages and their marks stay.

    Returns None if the spoken form cannot be derived from the letters: the line contains digits or
    signs that are read aloud as words ("5", "%", "$"), other letters than those, or no letter.
    """
    text = line.lower()
    if not strip_accents:
        return _in_any_language(text)
    if not text.isascii():
        text = unicodedata.normalize("NFD", text.translate(_STRAIGHT_APOSTROPHES))
        text = _ACCENTS.sub("", text)
    if _NO_SPOKEN_FORM.search(text):
        return None
    return " ".join(_SPOKEN_WORD.findall(text.replace("&", " and "))) or None


def _in_any_language(text):
    found = []
    for character in unicodedata.normalize("NFC", text.translate(_STRAIGHT_APOSTROPHES)):
        kind = unicodedata.category(character)
        if kind[0] == "N" or kind == "Sc" or character in f"&{_SIGNS}":
            return None
        if kind != "Cf":  # invisible
            found.append(character if kind[0] in "LM" or character == "'" else " ")
    return " ".join(_WORD.findall("".join(found))) or None
