"""Makes a vocabulary from raw text: WordPiece, trained on a sample of the lines, or all words."""

import itertools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from tokenizers import BertWordPieceTokenizer

from tta.choices import KEEP_ACCENTS
from tta.data.nbest.text_layouts import input_notes
from tta.data.text.files import open_output
from tta.data.text.lines import TextReader, bytes_bar, expand_globs, print_notes, sample_lines
from tta.data.vocabulary.config import VocabularyConfig
from tta.data.vocabulary.load import AnyVocabulary
from tta.data.vocabulary.normalization import bert_normalizer
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.data.vocabulary.word_tokenizer import MAX_WORD_LENGTH, split_words
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError

NUM_PIECES = 30_000  # the default of vocab_size


def create_vocab(config: VocabularyConfig) -> AnyVocabulary:
    """Makes a vocabulary, with the special tokens first, and writes it to `config.vocab_file`.

    The same text, settings and seed give the same vocabulary. It is smaller than
    `config.vocab_size` if too few pieces of the text are frequent enough, or if the text has fewer
    words. Raises InputError if the text cannot be read or has no line, `vocab_size` is too small
    for the characters, or the file cannot be written.
    """
    paths = expand_globs(config.input_file)
    # Opened first, so that an unwritable file is reported before the work, not after it.
    with open_output(config.vocab_file, config.overwrite) as file:
        make = _count if config.tokenizer == "words" else _train
        reader = TextReader(paths)
        vocabulary = make(reader, paths, config)
        print_notes(input_notes(reader))
        file.write(vocabulary.text)
    return vocabulary


def _count(reader, paths, config):
    """The vocabulary of all words of a text."""
    counts, num_lines = Counter(), 0
    with bytes_bar(reader, "counting") as bar:
        for line in reader:
            counts.update(split_words(line, config.is_lower_cased, config.normalization))
            num_lines += 1
            if num_lines % 10_000 == 0:
                bar.update(reader.bytes_read - bar.n)
        bar.update(reader.bytes_read - bar.n)
    vocabulary = WordVocabulary.from_counts(
        counts,
        num_lines,
        min_count=config.min_count,
        max_length=MAX_WORD_LENGTH,
        has_mask=config.mask_token,
    )
    if not vocabulary.ids:
        often = f" occurs {config.min_count:,} times" if counts else ""
        raise InputError(f"no word in the input{often}", ", ".join(paths))
    return vocabulary if config.vocab_size is None else vocabulary.first(config.vocab_size)


def _train(reader, paths, config):
    vocab_size = config.vocab_size or NUM_PIECES
    lines = sample_lines(reader, config.max_sentences, config.seed)
    if not lines:
        raise InputError("no line of text in the input", ", ".join(paths))
    trainer = BertWordPieceTokenizer()
    trainer.normalizer = bert_normalizer(config.is_lower_cased, config.normalization)
    normalize = trainer.normalizer.normalize_str
    counts = Counter(itertools.chain.from_iterable(map(normalize, lines)))
    letters = alphabet(counts, config.limit_alphabet)
    for note in _notes(lines, normalize, counts, letters, config):
        print(f"note: {note}", file=sys.stderr)
    inner = [f"##{c}" for c in letters if not _is_alone(c, trainer)]
    if len(TTA_SPECIALS) + len(letters) + len(inner) > vocab_size:
        raise InputError(
            f"vocab_size {vocab_size} is too small for {len(letters)} characters and "
            f"{len(inner)} of them inside words; a smaller limit_alphabet leaves out rare ones"
        )
    # The trainer would number characters in the order of a hash table, which changes from run to
    # run. Special tokens keep their order, so the characters are passed as such.
    trainer.train_from_iterator(
        lines,
        vocab_size=vocab_size,
        min_frequency=config.min_frequency,
        limit_alphabet=len(letters),
        initial_alphabet=letters,
        special_tokens=[*TTA_SPECIALS, *letters, *inner],
        show_progress=False,
    )
    ids = trainer.get_vocab()
    return Vocabulary(tuple(sorted(ids, key=ids.__getitem__)))


def _notes(lines, normalize, counts, letters, config) -> Iterator[str]:
    """What the vocabulary loses of the text: rare characters, and accents."""
    characters = {c: number for c, number in counts.items() if not c.isspace()}
    if len(characters) > len(letters):
        share = 1 - sum(characters[c] for c in letters) / sum(characters.values())
        yield (
            f"--limit_alphabet={config.limit_alphabet} leaves out "
            f"{len(characters) - len(letters):,} "
            f"characters, {share:.2%} of the text; words with them become [UNK]"
        )
    keep = bert_normalizer(config.is_lower_cased, KEEP_ACCENTS).normalize_str
    share = sum(normalize(line) != keep(line) for line in lines) / len(lines)
    if share > 0.1:  # English text has fewer
        yield f"{share:.0%} of the lines lose accents; --strip_accents=false keeps them"


def alphabet(counts: Mapping[str, int], size: int) -> list[str]:
    """The `size` most frequent of some characters, sorted, without white space."""
    letters = [c for c in counts if not c.isspace()]
    return sorted(sorted(letters, key=lambda c: (-counts[c], c))[:size])


def _is_alone(character, trainer):
    """Whether a character is always a word, as signs and Chinese characters are."""
    text = trainer.normalizer.normalize_str(f"a{character}a")
    return len(trainer.pre_tokenizer.pre_tokenize_str(text)) > 1
