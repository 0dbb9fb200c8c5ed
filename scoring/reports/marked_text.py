"""Marks the errors of a hypothesis word by word, with the log-probabilities of its tokens."""

import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from tta.scoring.metrics.error_rate import DELETION, SUBSTITUTION
from tta.scoring.metrics.normalization import ComparedText
from tta.scoring.scorers.scorer import TokenScores


@dataclass(frozen=True)
class Token:
    """A model's token, spelled as in the text, and its natural log-probability."""

    text: str
    log_probability: float


@dataclass(frozen=True)
class Word:
    """A word of a hypothesis, or a word that is missing from it.

    Attributes:
        error: "" (correct, or there is no reference), "substituted", "inserted", or "deleted" (a
            word of the reference that is missing here).
        expected: for a substituted word, the word of the reference; otherwise "".
        tokens: the model's tokens of the word; empty for a deleted word, or if the model's tokens
            do not match the words.
        is_in_phrase: whether it stands in a phrase that the user knows.
    """

    text: str
    error: str = ""
    expected: str = ""
    tokens: tuple[Token, ...] = ()
    is_in_phrase: bool = False


def mark(
    text: str,
    reference: str | None,
    scores: TokenScores,
    normalize: Callable[[str], str] = str,
) -> tuple[list[Word], list[Token]]:
    """Aligns a hypothesis with its reference, if there is one, and with a model's tokens.

    Words are separated by white space. They are compared as `normalize` turns them, see
    `tta.scoring.metrics.metric.Metric`. Deleted and expected words are shown as the reference has
    them.

    Returns:
        (words, loose): the words, including deleted ones, and the tokens that belong to no word.
        These are boundary tokens, or all tokens if they do not match the words.
    """
    words = text.split()
    pairs = zip(scores.tokens, scores.log_probabilities, strict=True)
    tokens = [Token(token, float(score)) for token, score in pairs]
    groups, loose = _group(words, tokens)
    # A normalized word may have no part that is compared (a dash), or several ("well-known").
    compared = ComparedText.of(words, normalize)
    expected = compared
    if reference is not None:
        expected = ComparedText.of(reference.split(), normalize)
    positions = [*compared.owners, len(words)]
    errors: dict[int, str] = {}
    # Places of parts of the reference, by the index of the word.
    meant, deleted = defaultdict(list), defaultdict(list)
    for edit in Levenshtein.editops(expected.parts, compared.parts):
        i = positions[edit.dest_pos]
        if edit.tag == DELETION:
            deleted[i].append(edit.src_pos)
        elif edit.tag == SUBSTITUTION:
            errors[i] = "substituted"
            meant[i].append(edit.src_pos)
        else:
            errors.setdefault(i, "inserted")
    marked = []
    for i, word in enumerate(words):
        marked += [Word(missing, "deleted") for missing in expected.spellings(deleted[i])]
        meant_words = " ".join(expected.spellings(meant[i]))
        marked.append(Word(word, errors.get(i, ""), meant_words, _spelt(word, groups[i])))
    last = expected.spellings(deleted[len(words)])
    return [*marked, *(Word(missing, "deleted") for missing in last)], loose


def _group(words, tokens):
    """Assigns tokens to words: (a list of tokens for each word, the other tokens).

    Only letters are compared: a model may lower the case, strip accents, split at punctuation, and
    mark pieces inside a word with ##. An unknown token ends its word.
    """
    pending = list(tokens)
    loose = []
    if pending and words and _is_special(pending[0]) and not _is_unknown(pending[0]):
        loose.append(pending.pop(0))
    groups = []
    for word in words:
        group, word_letters, group_letters = [], _letters(word), ""
        while pending and group_letters != word_letters and word_letters.startswith(group_letters):
            group.append(pending.pop(0))
            if _is_unknown(group[-1]):
                group_letters = word_letters
            else:
                group_letters += _letters(group[-1].text)
        if group_letters != word_letters:
            return [[] for _ in words], tokens
        groups.append(group)
    if not all(_is_special(token) for token in pending):
        return [[] for _ in words], tokens
    return groups, loose + pending


def _spelt(word, tokens):
    """The tokens of a word, spelled as in the word if the lengths match."""
    texts = [token.text.removeprefix("##") for token in tokens]
    if len(tokens) == 1:
        texts = [word]
    elif sum(map(len, texts)) == len(word):
        ends = list(itertools.accumulate(map(len, texts)))
        texts = [word[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    pairs = zip(texts, tokens, strict=True)
    return tuple(Token(text, token.log_probability) for text, token in pairs)


def _letters(text):
    """A text without case, accents and the mark ## of a piece inside a word."""
    decomposed = unicodedata.normalize("NFKD", text.removeprefix("##")).casefold()
    return "".join(c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf", "Cc"))


def _is_special(token):
    return (token.text[:1] + token.text[-1:]) in ("[]", "<>")


def _is_unknown(token):
    return _is_special(token) and "unk" in token.text.lower()
