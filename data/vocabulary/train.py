"""Trains a WordPiece vocabulary on a uniform sample of the lines of raw text."""

import unicodedata
from collections import Counter

from tokenizers import BertWordPieceTokenizer

from tta.data.text.lines import TextReader, sample_lines
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.errors import InputError


def create_vocab(
    paths,
    vocab_size=30000,
    lower_case=True,
    min_frequency=2,
    limit_alphabet=1000,
    max_sentences=1_000_000,
    seed=0,
):
    """Trains a vocabulary; the same text, options and seed give the same one.

    Args:
        paths: a list of text files, one sentence a line, as `TextReader` takes them.
        vocab_size: number of pieces, special tokens included.
        lower_case: whether to lower-case the text and strip its accents.
        min_frequency: a pair of pieces seen less often is not merged.
        limit_alphabet: number of distinct characters kept, the most frequent.
        max_sentences: train on at most this many lines, drawn uniformly.
        seed: int, the seed of that draw.

    Returns:
        A `Vocabulary` with T-TA's special tokens first. It is smaller than `vocab_size` if the
        text has too few pieces that are frequent enough.

    Raises:
        InputError: the text cannot be read, or has no line.
    """
    lines = sample_lines(TextReader(paths), max_sentences, seed)
    if not lines:
        raise InputError("no line of text in the input", ", ".join(paths))
    trainer = BertWordPieceTokenizer(lowercase=lower_case, strip_accents=lower_case)
    letters = alphabet(map(trainer.normalizer.normalize_str, lines), limit_alphabet)
    inner = [f"##{c}" for c in letters if not _is_punctuation(c)]
    if len(TTA_SPECIALS) + len(letters) + len(inner) > vocab_size:
        raise InputError(
            f"vocab_size {vocab_size} is too small for {len(letters)} characters alone and "
            f"{len(inner)} inside words; a smaller limit_alphabet leaves out rare ones"
        )
    # Left to itself the trainer numbers characters in the order of a hash table, which changes
    # from run to run. Given as special tokens they keep the order they have here.
    trainer.train_from_iterator(
        lines,
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        limit_alphabet=len(letters),
        initial_alphabet=letters,
        special_tokens=[*TTA_SPECIALS, *letters, *inner],
        show_progress=False,
    )
    ids = trainer.get_vocab()
    return Vocabulary(sorted(ids, key=ids.get))


def alphabet(lines, size):
    """The `size` most frequent characters (list of str, sorted) of lines, white space left out."""
    counts = Counter()
    for line in lines:
        counts.update(line)
    letters = [c for c in counts if not c.isspace()]
    return sorted(sorted(letters, key=lambda c: (-counts[c], c))[:size])


def _is_punctuation(character):
    """Whether BERT's tokenizers split a character off, so that it is never inside a word."""
    ascii_sign = character.isascii() and not character.isalnum()
    return ascii_sign or unicodedata.category(character).startswith("P")
