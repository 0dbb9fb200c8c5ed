"""A hypothesis word by word: what is wrong with it, and how probable its tokens are."""

import itertools
import unicodedata
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein


@dataclass(frozen=True)
class Token:
    """A model's token of a text, spelt as the text does, and its natural log-probability."""

    text: str
    log_probability: float


@dataclass(frozen=True)
class Word:
    """A word of a hypothesis, or one that it lacks.

    Attributes:
        text: the word.
        error: "" (right, or there is no reference), "substituted", "inserted", or "deleted": a
            word of the reference that the hypothesis lacks here.
        expected: the reference's word in the place of a substituted one, else "".
        tokens: the model's `Token`s of the word; none where it is deleted, or where the model's
            tokens could not be matched with the words.
    """

    text: str
    error: str = ""
    expected: str = ""
    tokens: tuple = ()


def mark(text, reference, scores):
    """Aligns a hypothesis with its reference and with a model's tokens.

    Args:
        text: the hypothesis; its words are what white space separates.
        reference: the text that was said, or None.
        scores: the model's `TokenScores` of the text.

    Returns:
        (words, loose): a list of `Word`, deleted ones among them; and the `Token`s that belong to
        no word: boundary tokens, or all where tokens and words do not match.
    """
    words = text.split()
    pairs = zip(scores.tokens, scores.log_probabilities, strict=True)
    tokens = [Token(token, float(score)) for token, score in pairs]
    groups, loose = _group(words, tokens)
    errors = [("", "")] * len(words)
    deleted = {}
    if reference is not None:
        expected = reference.split()
        for operation in Levenshtein.editops(expected, words):
            if operation.tag == "replace":
                errors[operation.dest_pos] = "substituted", expected[operation.src_pos]
            elif operation.tag == "insert":
                errors[operation.dest_pos] = "inserted", ""
            else:
                deleted.setdefault(operation.dest_pos, []).append(expected[operation.src_pos])
    marked = []
    for i in range(len(words) + 1):
        marked += [Word(word, "deleted") for word in deleted.get(i, ())]
        if i < len(words):
            marked.append(Word(words[i], *errors[i], _spelt(words[i], groups[i])))
    return marked, loose


def _group(words, tokens):
    """Which tokens spell which word: (a list of tokens for each word, tokens of no word).

    Tokens are compared by their letters: a model may lower the case, strip accents, split at
    punctuation, and mark with ## what goes on. One that stands for the unknown ends its word.
    """
    rest = list(tokens)
    loose = []
    if rest and words and _is_special(rest[0]) and not _is_unknown(rest[0]):
        loose.append(rest.pop(0))
    groups = []
    for word in words:
        group, wanted, got = [], _letters(word), ""
        while rest and got != wanted and wanted.startswith(got):
            group.append(rest.pop(0))
            got = wanted if _is_unknown(group[-1]) else got + _letters(group[-1].text)
        if got != wanted:
            return [[] for _ in words], tokens
        groups.append(group)
    if not all(_is_special(token) for token in rest):
        return [[] for _ in words], tokens
    return groups, loose + rest


def _spelt(word, tokens):
    """A word's tokens as the word itself spells them, where that can be told."""
    texts = [token.text.removeprefix("##") for token in tokens]
    if len(tokens) == 1:
        texts = [word]
    elif sum(map(len, texts)) == len(word):
        ends = list(itertools.accumulate(map(len, texts)))
        texts = [word[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    pairs = zip(texts, tokens, strict=True)
    return tuple(Token(text, token.log_probability) for text, token in pairs)


def _letters(text):
    """A text without case, accents and continuation marks."""
    decomposed = unicodedata.normalize("NFKD", text.removeprefix("##")).casefold()
    return "".join(c for c in decomposed if unicodedata.category(c) not in ("Mn", "Cf", "Cc"))


def _is_special(token):
    return (token.text[:1] + token.text[-1:]) in ("[]", "<>")


def _is_unknown(token):
    return _is_special(token) and "unk" in token.text.lower()
