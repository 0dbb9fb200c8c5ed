"""The spoken form of a sentence."""

import re
import unicodedata

_STRAIGHT_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"))
_ACCENTS = re.compile("[\u0300-\u036f]")
_NO_SPOKEN_FORM = re.compile("[^\\W_a-z]|[$£€¥¢%‰+=\\xd7÷±°@#]")
_SPOKEN_WORD = re.compile("[a-z]+(?:'[a-z]+)*")
_SIGNS = frozenset("&$£€¥¢%‰+=\xd7÷±°@#")  # read aloud as words
_WORD = re.compile("[^' ]+(?:'[^' ]+)*")


def spoken_form(line: str, strip_accents: bool = True) -> str | None:
    """Turns a written sentence into what a speech recogniser would print for it.

    The result has lower-case letters, apostrophes inside words, and single spaces. Curly
    apostrophes become straight ones. Hyphens, dashes and all other punctuation become spaces
    ("U.S." is "u s"). Letters are a to z, and accents are stripped, because English recognisers
    print none; "&" becomes "and". Without `strip_accents`, letters and marks are any language's.

    Returns None if the spoken form cannot be derived from the letters: the line contains digits or
    signs that are read aloud as words ("5", "%", "$"), letters that are not among them, or none.
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
    text = unicodedata.normalize("NFC", text.translate(_STRAIGHT_APOSTROPHES))
    kinds = [unicodedata.category(character) for character in text]
    if any(kind[0] == "N" or kind == "Sc" for kind in kinds) or not _SIGNS.isdisjoint(text):
        return None
    letters = (
        character if kind[0] in "LM" or character == "'" else "" if kind == "Cf" else " "
        for character, kind in zip(text, kinds, strict=True)
    )
    return " ".join(_WORD.findall("".join(letters))) or None
