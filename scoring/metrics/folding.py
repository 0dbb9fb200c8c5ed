"""What a normalization does to words of languages that it was not made for.

It may take letters or marks from words, so that different ones become the same. And it may leave
words different that differ in case alone, such as `dış` and `DIŞ` of Turkish.
"""

import functools
import itertools
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field

from tta.data.text.words import is_punctuation, split_punctuation
from tta.doors import option_named
from tta.errors import shown
from tta.scoring.metrics.normalization import METRIC_NORMALIZATIONS, basic

Normalize = Callable[[str], str]
Pair = tuple[str, str]

_MAX_LISTS = 300  # that are looked at
_MANY = 0.1  # of the texts; fewer English ones have accents or words in another script
_OF_ENGLISH = ("whisper",)  # normalizations with the rules of English
_LATIN = ("LATIN", "MODIFIER", "FEMININE", "MASCULINE")  # begins of names of characters
_DOTS = "\u0130\u0131"  # of Turkish: a capital with a dot, a small letter without one


@dataclass
class _Findings:
    """What was found in lists of texts.

    Attributes:
        num_texts: in all lists.
        lossy_words: one of each text that loses letters or marks.
        foreign_texts: those with letters of another script than Latin.
        equal_pairs: different words of a list that become the same, one pair per list.
        apart_pairs: words of a list that differ in case alone and stay different, likewise.
    """

    num_texts: int = 0
    lossy_words: list[str] = field(default_factory=list)
    foreign_texts: list[str] = field(default_factory=list)
    equal_pairs: list[Pair] = field(default_factory=list)
    apart_pairs: list[Pair] = field(default_factory=list)


def folding_notes(name: str, lists: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yields notes on letters that a normalization takes from words, and on case that it leaves.

    Args:
        name: a key of `METRIC_NORMALIZATIONS`.
        lists: the texts that are compared with each other, such as those of an N-best list and its
            reference. The first 300 are looked at.
    """
    findings = _find(METRIC_NORMALIZATIONS.load(name), itertools.islice(lists, _MAX_LISTS))
    start, advice = f"normalize={name}", ""
    if name in _OF_ENGLISH:
        start, advice = (
            f"{start} has the rules of English, and",
            f"; use {option_named('normalize', 'basic')}",
        )
    if findings.equal_pairs or len(findings.lossy_words) > _MANY * findings.num_texts:
        same = (shown(word) for word in next(iter(findings.equal_pairs), ()))
        same = f"; {' and '.join(same)} become the same word" if findings.equal_pairs else ""
        yield (
            f"{start} takes letters or marks from words in {len(findings.lossy_words):,} of "
            f"{findings.num_texts:,} texts, such as {shown(findings.lossy_words[0])}{same}{advice}"
        )
    elif name in _OF_ENGLISH and len(findings.foreign_texts) > _MANY * findings.num_texts:
        yield (
            f"{start} {len(findings.foreign_texts):,} of {findings.num_texts:,} texts are in "
            f"another script, first {shown(findings.foreign_texts[0][:80])}{advice}"
        )
    if findings.apart_pairs:
        upper, lower = map(shown, findings.apart_pairs[0])
        yield (
            f"lists with words that differ in case alone and stay different with normalize={name}: "
            f"{len(findings.apart_pairs):,}, first {upper} and {lower}; write all texts in one case"
        )


def _find(normalize: Normalize, lists: Iterable[Sequence[str]]) -> _Findings:
    findings = _Findings()
    folds_case = normalize("A") == "a"
    for texts in lists:
        findings.num_texts += len(texts)
        if all(map(str.isascii, texts)):
            continue
        words_of_texts = [_words(text) for text in texts]
        words = set[str]().union(*words_of_texts)
        lossy = {word for word in words if _loses_letters(word, normalize)}
        findings.lossy_words += [
            min(lossy & text_words) for text_words in words_of_texts if lossy & text_words
        ]
        findings.foreign_texts += [text for text in texts if any(map(_is_foreign, text))]
        findings.equal_pairs += _equal_pairs(words, lossy, normalize)
        if folds_case and any(text != text.lower() for text in texts):
            findings.apart_pairs += _apart_pairs(words, normalize)
    return findings


def _words(text: str) -> set[str]:
    """The words of a text, without punctuation around them."""
    parts = (part for word in set(text.split()) for part in split_punctuation(word))
    return {part for part in parts if not is_punctuation(part)}


def _loses_letters(word: str, normalize: Normalize) -> bool:
    """Whether letters or marks of a word are missing after normalization, besides ASCII's."""
    normalized = normalize(word)
    if word.isascii() or word.lower() in normalized:
        return False
    after = Counter(unicodedata.normalize("NFKD", normalized))
    before = Counter(unicodedata.normalize("NFKD", basic(word)))
    return any(
        number > after[c] and not c.isascii() and unicodedata.category(c)[0] in "LM"
        for c, number in before.items()
    )


@functools.lru_cache(1 << 16)
def _is_foreign(character: str) -> bool:
    """Whether a character is a letter of another script than Latin."""
    is_latin = character.isascii() or unicodedata.name(character, "").startswith(_LATIN)
    return character.isalpha() and not is_latin


def _equal_pairs(words: Set[str], lossy: Set[str], normalize: Normalize) -> list[Pair]:
    """The first two words that become the same because one of them loses letters, if there are."""
    groups: dict[str, set[str]] = defaultdict(set)
    for word in words if lossy else ():
        groups[normalize(word)].add(basic(word))
    for word in sorted(lossy):
        same_words = groups[normalize(word)] - {basic(word)}
        if same_words:
            return [(word, min(same_words))]
    return []


def _apart_pairs(words: Set[str], normalize: Normalize) -> list[Pair]:
    """The first two words that differ in case alone and stay different, if there are any.

    One is in capitals, which may lack accents, or has a letter of Turkish with two kinds of dots.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for word in sorted(words, key=lambda word: (-_num_capitals(word), word)):
        if len(word) > 1 and word.lower() != word.upper():
            groups[_skeleton(word)].append(word)
    for upper, lower in itertools.chain.from_iterable(
        itertools.combinations(group, 2) for group in groups.values()
    ):
        is_in_capitals = upper.isupper() and not lower.isupper()
        is_turkish = not {*upper, *lower}.isdisjoint(_DOTS)
        differ_in_case = is_in_capitals or (
            is_turkish and _num_capitals(upper) > _num_capitals(lower)
        )
        if differ_in_case and normalize(upper) != normalize(lower):
            return [(upper, lower)]
    return []


def _num_capitals(word):
    return sum(map(str.isupper, word))


def _skeleton(word):
    """A word in capitals without marks."""
    decomposed = unicodedata.normalize("NFD", word.upper())
    return "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
