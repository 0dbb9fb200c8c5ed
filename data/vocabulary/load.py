"""Loads vocabularies and tokenizers of the kind that a config or a data set names.

Says too how a vocabulary reads text: its case and its accents, so that every token can occur.
"""

from pathlib import Path
from typing import Any

from tta.choices import KEEP_ACCENTS, STRIP_LATIN, TOKENIZERS
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.data.vocabulary.word_tokenizer import WordTokenizer
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError

AnyVocabulary = Vocabulary | WordVocabulary
AnyTokenizer = Tokenizer | WordTokenizer


def load_vocabulary(tokenizer: str, path: Path | str) -> AnyVocabulary:
    """Reads a vocabulary file of what `tokenizer` names, one of `tta.choices.TOKENIZERS`.

    Raises InputError if the file is missing or not a vocabulary of this kind.
    """
    if tokenizer not in TOKENIZERS:
        raise InputError(f"tokenizer must be {' or '.join(TOKENIZERS)}, not {tokenizer!r}")
    kind = WordVocabulary if tokenizer == "words" else Vocabulary
    return kind.from_file(path)


def make_tokenizer(
    vocabulary: AnyVocabulary,
    lower_case: bool,
    open_vocabulary: bool = False,
    normalization: str = "bert",
) -> AnyTokenizer:
    """The tokenizer of a vocabulary of words or of word pieces.

    With `lower_case`, text is lower-cased. With `open_vocabulary`, unknown words get new ids, see
    `WordTokenizer`; word pieces have no new ids. `normalization` is one of
    `tta.choices.NORMALIZATIONS`. Raises InputError if the vocabulary is not usable.
    """
    if isinstance(vocabulary, WordVocabulary):
        return WordTokenizer(vocabulary, lower_case, open_vocabulary, normalization)
    return Tokenizer(vocabulary, lower_case, normalization)


_TAGS = ("[", "<")  # the first characters of special tokens, also of those that we do not know


def reading_of(
    vocabulary: AnyVocabulary,
    lower_case: bool | None = None,
    strip_accents: bool | None = None,
    normalization: str | None = None,
) -> dict[str, Any]:
    """The `lower_case` and the `normalization` with which every token of a vocabulary can occur.

    The vocabulary decides what is None. Text is lower-cased unless a token has a capital; words are
    lower-cased only if `lower_case` is True. Lower-cased text loses the accents of Latin and Greek
    letters unless a token has some. A vocabulary with BERT's special tokens is read as BERT does.
    Raises InputError if a token could not occur in text that is read so, or both `strip_accents`
    and `normalization` are given.
    """
    if strip_accents is not None and normalization is not None:
        raise InputError("give strip_accents or normalization, not both")
    is_words = isinstance(vocabulary, WordVocabulary)
    tokens = [token for token in vocabulary.tokens if not token.startswith(_TAGS)]
    if lower_case is None:
        lower_case = not is_words and not any(c.isupper() for token in tokens for c in token)
    if strip_accents is not None:
        kinds = [STRIP_LATIN if strip_accents else KEEP_ACCENTS]
    elif normalization is not None:
        kinds = [normalization]
    else:  # BERT's rules for cased text change no letter, not even decomposed ones
        is_of_bert = not is_words and vocabulary.is_of_bert
        kinds = ["bert"] if is_of_bert else [STRIP_LATIN] if lower_case else []
        kinds += [KEEP_ACCENTS, "bert"]
    read_plainly, lost = make_tokenizer(vocabulary, False).normalize, None
    for kind in kinds:
        equivalent = "bert" if kind == "nfkc" else kind  # has the same case and accents
        read = make_tokenizer(vocabulary, lower_case, normalization=equivalent).normalize
        changed = next((token for token in tokens if read(token) != read_plainly(token)), None)
        if changed is None:
            return {"lower_case": lower_case, "normalization": kind, "strip_accents": None}
        lost = lost or changed
    raise InputError(
        f"text that is read with lower_case {lower_case} and normalization {kinds[0]} never has "
        f"{lost!r}; leave out these flags to follow the vocabulary",
        vocabulary.path,
    )
