"""What is done to a text before it is split into words: accents, case and blanks."""

from functools import cache

from tokenizers import Regex
from tokenizers.normalizers import NFC, NFD, BertNormalizer, Normalizer, Replace, Sequence

from tta.choices import KEEP_ACCENTS, STRIP_LATIN

# In other scripts, such as those of Hindi, Thai and Arabic, marks are vowels or parts of letters.
_ACCENTS, _MARKS = r"(?<=[\p{Latin}\p{Greek}])\p{Inherited}+", r"\p{Mn}+"


@cache
def accents(lower_case: bool, normalization: str) -> Normalizer:
    """Strips the accents of Latin and Greek letters ("strip_latin") or none ("keep_accents").

    Both compose letters and marks. With any other normalization, text that is to be lower-cased
    loses all marks, as in BERT.
    """
    if normalization == KEEP_ACCENTS:
        return NFC()
    if normalization == STRIP_LATIN:
        return Sequence([NFD(), Replace(Regex(_ACCENTS), ""), NFC()])
    return Sequence([NFD(), Replace(Regex(_MARKS), "")] if lower_case else [])


def bert_normalizer(lower_case: bool, normalization: str = "bert") -> Normalizer:
    """BERT's rules, but for accents: blanks around Chinese characters, no control characters."""
    if normalization in (STRIP_LATIN, KEEP_ACCENTS):
        plain = BertNormalizer(lowercase=lower_case, strip_accents=False)
        return Sequence([accents(lower_case, normalization), plain])
    return BertNormalizer(lowercase=lower_case, strip_accents=lower_case)
