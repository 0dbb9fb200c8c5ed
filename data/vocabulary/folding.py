"""NFKC case folding, character by character: how earlier versions read text.

Models that were trained on such text keep it (`normalization` in config.json), because they have
never seen the pieces that BERT's own rules give in its place: "…" is three dots here, "½" is "1⁄2",
"ß" is "ss", and full-width letters are letters.
"""

import unicodedata


class FoldedCharacters(dict[int, str]):
    """A table for `str.translate`, which is filled when a character is first seen.

    It is what TensorFlow Text's FastBertTokenizer does, up to characters that Python's version of
    Unicode does not have, and about thirty invisible ones.

    Args:
        lower_case: whether to fold case and compatible characters, and to strip accents. If not,
            control characters become blanks and all others stay.
    """

    def __init__(self, lower_case: bool):
        super().__init__()
        self._lower_case = lower_case

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Cc" or (category == "Cf" and not self._lower_case):
            folded = " "
        elif category == "Cf":
            folded = ""
        else:
            folded = _folded(character) if self._lower_case else character
        self[code] = folded
        return folded


def _folded(character):
    text = unicodedata.normalize("NFD", character)
    for _ in range(2):  # a second time, because NFKC can give capital letters
        text = unicodedata.normalize("NFKC", text.casefold())
    parts = unicodedata.normalize("NFD", text)
    return "".join(part for part in parts if unicodedata.category(part) != "Mn")
