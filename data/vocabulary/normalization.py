"""How texts are normalized before they are split: accents, case, and BERT's own rules."""

import unicodedata
from functools import cache

from tokenizers import Regex, normalizers
from tokenizers.normalizers import NFC, NFD, BertNormalizer, Normalizer, Replace

from tta.choices import KEEP_ACCENTS, STRIP_LATIN
from tta.errors import InputError

# In other scripts, such as those of Hindi, Thai and Arabic, marks are vowels or parts of letters.
_ACCENTS, _MARKS = r"(?<=[\p{Latin}\p{Greek}])\p{Inherited}+", r"\p{Mn}+"


@cache
def accent_normalizer(lower_case: bool, normalization: str) -> Normalizer:
    """Strips the accents of Latin and Greek letters ("strip_latin") or none ("keep_accents").

    Both end in NFC. With any other normalization, text that is to be lower-cased
    loses all marks, as in BERT.
    """
    if normalization == KEEP_ACCENTS:
        return NFC()
    if normalization == STRIP_LATIN:
        return normalizers.Sequence([NFD(), Replace(Regex(_ACCENTS), ""), NFC()])
    return normalizers.Sequence([NFD(), Replace(Regex(_MARKS), "")] if lower_case else [])


def bert_normalizer(lower_case: bool, normalization: str = "bert") -> Normalizer:
    """BERT's rules, but for accents: blanks around Chinese characters, no control characters."""
    if normalization in (STRIP_LATIN, KEEP_ACCENTS):
        without_stripping = BertNormalizer(lowercase=lower_case, strip_accents=False)
        return normalizers.Sequence(
            [accent_normalizer(lower_case, normalization), without_stripping]
        )
    return BertNormalizer(lowercase=lower_case, strip_accents=lower_case)


class FoldedCharacters(dict[int, str]):
    """A table for `str.translate`, which is filled when a character is first seen.

    NFKC case folding, character by character, is how earlier versions read text. Models that were
    trained on such text keep it (`normalization` "nfkc" in config.json), because they have never
    seen the pieces that BERT's own rules give in its place: "…" is three dots here, "½" is "1⁄2",
    "ß" is "ss", and full-width letters are letters.

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


def as_text(text: str | bytes) -> str:
    """A text, str or UTF-8, as str; raises InputError if it is not valid Unicode."""
    try:
        if isinstance(text, bytes):
            return text.decode()
        if not text.isascii():
            text.encode()
    except UnicodeError:
        raise InputError(f"not valid Unicode: {text!r}") from None
    return text
