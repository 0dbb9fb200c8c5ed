"""Whether texts are in another language than a vocabulary of word pieces."""

import math
import re
from collections.abc import Sequence

from scipy.special import bdtrc

from tta.data.text.words import LETTERS
from tta.data.vocabulary.tokenizer import Tokenizer

_WORD = re.compile(rf"{LETTERS}(?:'{LETTERS})*")
_SHORT = 6  # letters; most longer names and terms are split in any language
_LANGUAGE_WORDS = 60_000  # words of a language, in Zipf's law


def split_in_other_language(
    tokenizer: Tokenizer, texts: Sequence[str]
) -> tuple[float, float, float] | None:
    """The pieces per word of texts in another language than the vocabulary's; None of others.

    The share of their short words that are split follows, and the most that it should be, 0 to 1.

    By Zipf's law, the W most frequent of N words make ln W / ln N of a text. So a vocabulary with W
    whole words splits at most the rest of its own language, and of its short words half as many
    (with `small` 14 % of the words at most, and 2 to 3 % of the short words of our texts). Texts
    are foreign if twice the rest of their short words are split, and so many different ones that
    chance splits as many in one of 1,000 texts.

    Names and numbers are left out: words with capitals, unless all are capitals, and texts with few
    words of up to three letters. So are scripts without capitals, whose words are built otherwise.
    """
    words = [word for text in texts for word in _WORD.findall(text)]
    are_capitals = all(word == word.upper() for word in words)
    cased = [w for w in words if w.lower() != w.upper() and (are_capitals or w == w.lower())]
    short = [word for word in cased if len(word) <= _SHORT]
    if not short or sum(len(word) <= 3 for word in words) <= 0.1 * len(words):
        return None
    typical = 1 - math.log(max(tokenizer.vocabulary.num_words, 1)) / math.log(_LANGUAGE_WORDS)
    sizes = dict(zip(words, tokenizer.tokenize_flat(words)[1].tolist(), strict=True))
    split = sum(sizes[word] > 1 for word in short) / len(short)
    kinds = {*short}
    count = sum(sizes[word] > 1 for word in kinds)
    if split <= 2 * typical or bdtrc(count - 1, len(kinds), max(typical, 0.02) / 2) > 1e-3:
        return None
    return sum(sizes[word] for word in words) / len(words), split, typical
