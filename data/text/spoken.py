"""The spoken form of a sentence."""

import re
import unicodedata

_STRAIGHT_APOSTROPHES = str.maketrans(dict.fromkeys("\u2018\u2019\u02bc\uff07", "'"))
_ACCENTS = re.compile("[\u0300-\u036f]")
_NO_SPOKEN_FORM = re.compile("[^\\W_a-z]|[$£€¥¢%‰+=\\xd7÷±°@#]")
_SPOKEN_WORD = re.compile("[a-z]+(?:'[a-z]+)*")


def spoken_form(line: str) -> str | None:
    """Turns a written sentence into what a speech recogniser would print for it.

    The result has lower-case letters a to z, apostrophes inside words, and single spaces. Curly
    apostrophes become straight ones. Accents are stripped, because English recognisers print none.
    "&" becomes "and". Hyphens, dashes and all other punctuation become spaces ("U.S." is "u s").

    Returns None if the spoken form cannot be derived from the letters: the line contains digits or
    signs that are read aloud as words ("5", "%", "$"), letters other than a to z, or no letter.
    """
    text = line.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFD", text.translate(_STRAIGHT_APOSTROPHES))
        text = _ACCENTS.sub("", text)
    if _NO_SPOKEN_FORM.search(text):
        return None
    return " ".join(_SPOKEN_WORD.findall(text.replace("&", " and "))) or None
