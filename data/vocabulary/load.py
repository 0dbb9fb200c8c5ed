"""Loads the vocabulary and the tokenizer of the kind that a config or a data set names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tta.choices import TOKENIZERS
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.data.vocabulary.word_tokenizer import WordTokenizer
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError

AnyVocabulary = Vocabulary | WordVocabulary
AnyTokenizer = Tokenizer | WordTokenizer


def load_vocabulary(
    tokenizer: str, path: Path | str, opener: Callable[..., Any] = open
) -> AnyVocabulary:
    """Reads a vocabulary file of what `tokenizer` names, one of `tta.choices.TOKENIZERS`.

    `path` and `opener` are as in `tta.data.text.files.open_input`.

    Raises:
        InputError: the file is missing or not a vocabulary of this kind.
    """
    if tokenizer not in TOKENIZERS:
        raise InputError(f"tokenizer must be {' or '.join(TOKENIZERS)}, not {tokenizer!r}")
    kind = WordVocabulary if tokenizer == "words" else Vocabulary
    return kind.from_file(path, opener)


def make_tokenizer(
    vocabulary: AnyVocabulary,
    lower_case: bool,
    open_vocabulary: bool = False,
    normalization: str = "bert",
) -> AnyTokenizer:
    """The tokenizer of a vocabulary of words or of word pieces.

    With `lower_case`, text is lower-cased. With `open_vocabulary`, unknown words get new ids, see
    `WordTokenizer`; word pieces have no new ids. `normalization` is one of
    `tta.choices.NORMALIZATIONS`.

    Raises:
        InputError: the vocabulary is not usable.
    """
    if isinstance(vocabulary, WordVocabulary):
        return WordTokenizer(vocabulary, lower_case, open_vocabulary, normalization)
    return Tokenizer(vocabulary, lower_case, normalization)
