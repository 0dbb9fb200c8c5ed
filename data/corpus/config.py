"""Settings of the commands that turn raw text into shards of training examples."""

from dataclasses import dataclass
from typing import Any

from tta.data.vocabulary.config import VocabularyConfig
from tta.settings import (
    LOWER_CASE,
    NORMALIZATION,
    OVERWRITE,
    RAW_TEXT,
    SEED,
    STRIP_ACCENTS,
    TOKENIZER,
    Config,
    fields,
    setting,
)

MAX_SEQ_LENGTH = 128  # tokens of a record where nothing else is asked for


@dataclass(frozen=True, kw_only=True)
class CorpusConfig(Config):
    """Which text becomes a data set, and how sentences become records."""

    input_file: list[str] = setting(..., RAW_TEXT)
    vocab_file: str = setting(..., "Vocabulary that tta create-vocab wrote.")
    output_dir: str = setting(..., "Folder for *.tfrecord, vocab.txt and, last, dataset.json.")
    num_shards: int = setting(64, "Number of train shards.", 1, 99_999)
    max_seq_length: int = setting(
        MAX_SEQ_LENGTH, "Maximum tokens per record, begin and end included.", 3, group="Sentences"
    )
    merge_sentences: bool = setting(
        False,
        "Merge consecutive sentences of a document into records of up to --max_seq_length tokens, "
        "with the end token after each sentence. A blank line, or the end of a file, ends a "
        "document.",
    )
    min_tokens: int = setting(2, "Drop sentences with fewer word pieces or words.", 1)
    long_sentences: str = setting(
        "truncate", "What to do with sentences over --max_seq_length.", choices=("truncate", "drop")
    )
    heldout_fraction: float = setting(
        0.01,
        "Fraction of the sentences, 0 to 1, to hold out for evaluation. Copies of a sentence that "
        "differ only in case or punctuation are in the same split.",
        0,
        1,
    )
    spoken_fraction: float = setting(
        0.0,
        "Fraction of the sentences, 0 to 1, to convert to the output of a speech recogniser: "
        "lower-case letters and apostrophes. Sentences with digits stay unchanged. So do sentences "
        "with letters that are not English, unless accents are kept.",
        0,
        1,
    )
    tokenizer: str = setting("word_pieces", TOKENIZER)
    lower_case: bool | None = setting(None, LOWER_CASE)
    strip_accents: bool | None = setting(None, STRIP_ACCENTS)
    normalization: str | None = setting(None, NORMALIZATION)
    seed: int = setting(0, SEED)
    overwrite: bool = setting(False, OVERWRITE)


@dataclass(frozen=True, kw_only=True)
class LocalCorpusConfig(CorpusConfig):
    """A `CorpusConfig` for this machine alone."""

    num_workers: int | None = setting(
        None, "Threads; the result does not change. Default: 1 per core.", 1
    )


_SETTINGS = {
    field.name: field.setting for kind in (VocabularyConfig, CorpusConfig) for field in fields(kind)
}
OF_TEXT = "Training on raw text"  # a group of flags


@dataclass(frozen=True, kw_only=True)
class TextSettings(Config):
    """Raw text that a training turns into a vocabulary and a data set, see `make_dataset`."""

    input_file: list[str] | None = setting(
        None,
        "In place of --input_dir: raw text in UTF-8, one sentence per line, as comma-separated "
        "paths, folders or globs. The run makes a vocabulary and a data set of it, in the folder "
        "tfrecords of --output_dir. Repeated commands use these; other text is refused.",
        group=OF_TEXT,
    )
    vocab_size: int | None = setting(
        None, "Number of word pieces, special tokens included. Default: 30,000.", 6
    )
    lower_case: bool | None = setting(None, _SETTINGS["lower_case"])
    strip_accents: bool | None = setting(None, _SETTINGS["strip_accents"])
    spoken_fraction: float = setting(0.0, _SETTINGS["spoken_fraction"])
    heldout_fraction: float = setting(0.01, _SETTINGS["heldout_fraction"])

    def of_dataset(self) -> dict[str, Any]:
        """{setting: its value} of those that the data set depends on, besides the text."""
        names = [field.name for field in fields(TextSettings)]
        return {name: getattr(self, name) for name in names if name != "input_file"}
