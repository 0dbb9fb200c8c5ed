"""Whisper's English normalizer as OpenAI publishes it: numbers, contractions, titles, spelling."""

import functools

from tta.errors import InputError, install

try:
    from whisper_normalizer.english import EnglishTextNormalizer
except ModuleNotFoundError:
    raise InputError(f"normalize=whisper needs whisper-normalizer: {install('whisper')}") from None

_NORMALIZER: EnglishTextNormalizer = EnglishTextNormalizer()
# The package has four rules more, which would read other words as OpenAI's.
for _added in (r"\bkinda\b", r"\bsorta\b", r"\bdunno\b", r"\bcause\b"):
    _NORMALIZER.replacers.pop(_added, None)


@functools.lru_cache(1 << 17)
def normalize(text: str) -> str:
    """The text in Whisper's form. Words depend on their neighbours: "twenty one" is "21"."""
    return _NORMALIZER(text)
