"""Flags of tta-create-vocab."""

from absl import flags

from tta.flags import common


def define():
    """Defines the flags of tta-create-vocab."""
    common.define_raw_text()
    flags.DEFINE_string("vocab_file", None, "Vocabulary to write, one piece a line.", required=True)
    flags.DEFINE_integer(
        "vocab_size", 30000, "Number of pieces, special tokens included.", lower_bound=6
    )
    flags.DEFINE_bool("lower_case", True, "Lower-case the text and strip its accents.")
    flags.DEFINE_integer(
        "min_frequency", 2, "A pair of pieces seen less often is not merged.", lower_bound=1
    )
    flags.DEFINE_integer(
        "limit_alphabet",
        1000,
        "Number of distinct characters kept, the most frequent; words with others are [UNK].",
        lower_bound=1,
    )
    flags.DEFINE_integer(
        "max_sentences",
        1_000_000,
        "Train on at most this many lines, drawn uniformly from all; bounds the memory "
        "(about 300 bytes a line).",
        lower_bound=1,
    )
    common.define_seed()
    common.define_overwrite()
    flags.adopt_module_key_flags(common)
