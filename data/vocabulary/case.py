"""How a vocabulary reads text: its case and its accents, so that every piece can occur."""

import itertools

from tta.choices import KEEP_ACCENTS, STRIP_LATIN
from tta.data.vocabulary.folding import FoldedCharacters
from tta.data.vocabulary.load import AnyVocabulary
from tta.data.vocabulary.tokenizer import normalizer_of
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.data.vocabulary.word_tokenizer import split_words
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError

_TAGS = ("[", "<")  # special tokens begin so, also those that we do not know


def reading_of(
    vocabulary: AnyVocabulary,
    lower_case: bool | None = None,
    strip_accents: bool | None = None,
    normalization: str | None = None,
) -> tuple[bool, str]:
    """Whether to lower-case text, and its normalization, one of `tta.choices.NORMALIZATIONS`.

    What is None follows from the vocabulary. Text is lower-cased, and loses the accents of Latin
    and Greek letters, if no piece of the vocabulary has capitals or such accents. Whole words are
    lower-cased only if `lower_case` says so. A vocabulary with BERT's special tokens has BERT's
    normalization.

    Raises:
        InputError: a piece could never occur in text that is read in this way, or the arguments
            contradict each other.
    """
    if strip_accents is not None and normalization is not None:
        raise InputError("give strip_accents or normalization, not both")
    is_words = not isinstance(vocabulary, Vocabulary)
    default = [False] if is_words else [True] if strip_accents else [True, False]
    cases = default if lower_case is None else [lower_case]
    if strip_accents and cases == [False]:
        raise InputError("strip_accents needs lower_case: text with capitals keeps its accents")
    if normalization is not None:
        kinds = [normalization]
    elif strip_accents is not None:
        kinds = [STRIP_LATIN if strip_accents else KEEP_ACCENTS]
    elif not is_words and vocabulary.is_of_bert:
        kinds = ["bert"]
    else:  # BERT's rules without lower case suit any vocabulary, also one of decomposed letters
        kinds = [STRIP_LATIN, KEEP_ACCENTS, "bert"]
    changed = ""
    for lower, kind in itertools.product(cases, kinds):
        found = _first_changed(vocabulary, lower, kind)
        if found is None or (is_words and kind == kinds[-1]):
            return lower, kind if lower or kind != STRIP_LATIN else KEEP_ACCENTS
        changed = changed or found
    raise InputError(
        f"has {changed!r}, which text that is read in this way never has; without lower_case, "
        "strip_accents and normalization, the vocabulary decides",
        vocabulary.path,
    )


def _first_changed(vocabulary, lower_case, normalization) -> str | None:
    """A piece whose case or accents reading changes, or a word whose accents; None without."""
    if isinstance(vocabulary, WordVocabulary):
        for word in vocabulary.tokens[vocabulary.num_specials :]:
            kept = split_words(word, lower_case, KEEP_ACCENTS)
            if split_words(word, lower_case, normalization) != kept:
                return word
        return None
    folded = FoldedCharacters(lower_case) if normalization == "nfkc" else {}
    read, plain = (normalizer_of(*one) for one in ((lower_case, normalization), (False, "bert")))
    for piece in vocabulary.tokens:
        if not piece.startswith(_TAGS):
            text = piece.translate(folded)
            if read.normalize_str(text) != plain.normalize_str(piece):
                return piece
    return None
