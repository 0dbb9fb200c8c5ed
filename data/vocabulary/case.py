"""How a vocabulary reads text: its case and its accents, so that every piece can occur."""

import itertools

from tta.choices import KEEP_ACCENTS, STRIP_LATIN
from tta.data.vocabulary.load import AnyVocabulary, make_tokenizer
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError

_TAGS = ("[", "<")  # the first characters of special tokens, also of those that we do not know


def reading_of(
    vocabulary: AnyVocabulary,
    lower_case: bool | None = None,
    strip_accents: bool | None = None,
    normalization: str | None = None,
) -> tuple[bool, str]:
    """Whether to lower-case text, and its normalization, one of `tta.choices.NORMALIZATIONS`.

    The vocabulary decides what is None. Text is lower-cased, and loses the accents of Latin and
    Greek letters, unless the vocabulary has capitals or such accents. Words are lower-cased only if
    `lower_case` is True. A vocabulary with BERT's special tokens is read as BERT does.

    Raises:
        InputError: a token could not occur in text that is read so, or both `strip_accents` and
            `normalization` are given.
    """
    if strip_accents is not None and normalization is not None:
        raise InputError("give strip_accents or normalization, not both")
    is_words = isinstance(vocabulary, WordVocabulary)
    cases = [not is_words, False] if lower_case is None else [lower_case]
    if strip_accents is not None:
        normalization = STRIP_LATIN if strip_accents else KEEP_ACCENTS
    elif not is_words and vocabulary.is_of_bert:
        normalization = normalization or "bert"
    # BERT's rules for cased text change no letter, not even decomposed ones.
    kinds = [STRIP_LATIN, KEEP_ACCENTS, "bert"] if normalization is None else [normalization]
    plain, lost = make_tokenizer(vocabulary, False).normalize, ""
    for lower, kind in itertools.product(cases, kinds):
        if kind == STRIP_LATIN and not (lower or strip_accents):
            continue
        read = make_tokenizer(vocabulary, lower, normalization=kind).normalize
        tokens = (token for token in vocabulary.tokens if not token.startswith(_TAGS))
        changed = next((token for token in tokens if read(token) != plain(token)), None)
        if changed is None:
            return lower, kind
        lost = lost or changed
    raise InputError(
        f"text that is read with these flags never has {lost!r}; leave out lower_case, "
        "strip_accents and normalization to follow the vocabulary",
        vocabulary.path,
    )
