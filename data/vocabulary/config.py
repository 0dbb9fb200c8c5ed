"""Settings of tta create-vocab."""

from dataclasses import dataclass

from tta.choices import KEEP_ACCENTS, STRIP_LATIN
from tta.settings import (
    LOWER_CASE,
    OVERWRITE,
    RAW_TEXT,
    SEED,
    STRIP_ACCENTS,
    TOKENIZER,
    Config,
    setting,
)


@dataclass(frozen=True, kw_only=True)
class VocabularyConfig(Config):
    """How a vocabulary is trained, and where it is written."""

    input_file: list[str] = setting(..., RAW_TEXT)
    vocab_file: str = setting(
        ...,
        "Vocabulary to write, one word piece, or one word and its count, per line.",
        writes=True,
    )
    tokenizer: str = setting("word_pieces", TOKENIZER, group="Vocabulary")
    vocab_size: int | None = setting(
        None,
        "Number of pieces or words, special tokens included. Default: 30,000 pieces, or all words.",
        6,
    )
    lower_case: bool | None = setting(None, LOWER_CASE)
    strip_accents: bool | None = setting(None, STRIP_ACCENTS)
    min_count: int = setting(1, "For words: leave out words that occur less often.", 1)
    mask_token: bool = setting(
        False, "For words: add [MASK], which --objective=mlm needs. Word pieces always have it."
    )
    min_frequency: int = setting(
        2, "For word_pieces: do not merge pairs of pieces that are less frequent.", 1
    )
    limit_alphabet: int = setting(
        1000,
        "For word_pieces: number of distinct characters to keep, the most frequent ones. Words "
        "with other characters become [UNK].",
        1,
    )
    max_sentences: int = setting(
        1_000_000,
        "For word_pieces: train on at most this many lines, drawn uniformly from all. Bounds the "
        "memory: about 300 bytes per line. Words are counted in all lines; the memory, some 200 "
        "bytes per distinct word, does not grow with the lines.",
        1,
    )
    seed: int = setting(0, SEED)
    overwrite: bool = setting(False, OVERWRITE)

    @property
    def is_lower_cased(self) -> bool:
        """`lower_case`, or its default."""
        return self.tokenizer == "word_pieces" if self.lower_case is None else self.lower_case

    @property
    def normalization(self) -> str:
        """The one of `tta.choices.NORMALIZATIONS` that `strip_accents` names."""
        strip = self.is_lower_cased if self.strip_accents is None else self.strip_accents
        return STRIP_LATIN if strip else KEEP_ACCENTS
