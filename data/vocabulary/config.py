"""Settings of tta-create-vocab."""

from dataclasses import dataclass

from tta.settings import LOWER_CASE, OVERWRITE, RAW_TEXT, SEED, Config, setting


@dataclass(frozen=True, kw_only=True)
class VocabularyConfig(Config):
    """How a vocabulary is trained, and where it is written."""

    input_file: list[str] = setting(..., RAW_TEXT)
    vocab_file: str = setting(..., "Vocabulary to write, one word piece per line.")
    vocab_size: int = setting(
        30_000, "Number of pieces, special tokens included.", 6, group="Vocabulary"
    )
    lower_case: bool = setting(True, LOWER_CASE)
    min_frequency: int = setting(2, "Do not merge pairs of pieces that are less frequent.", 1)
    limit_alphabet: int = setting(
        1000,
        "Number of distinct characters to keep, the most frequent ones. Words with other "
        "characters become [UNK].",
        1,
    )
    max_sentences: int = setting(
        1_000_000,
        "Train on at most this many lines, drawn uniformly from all. Bounds the memory: about 300 "
        "bytes per line.",
        1,
    )
    seed: int = setting(0, SEED)
    overwrite: bool = setting(False, OVERWRITE)
