"""Flags of tta-create-tfrecords."""

from absl import flags

from tta.flags import common


def define():
    """Defines the flags of tta-create-tfrecords."""
    define_data_set()
    flags.DEFINE_integer(
        "num_workers",
        None,
        "Number of threads; the result does not depend on it. Default: one a core.",
        lower_bound=1,
    )


def define_data_set():
    """Defines what becomes of the text, wherever it is done."""
    common.define_raw_text()
    flags.DEFINE_string("vocab_file", None, "Vocabulary, one word piece a line.", required=True)
    flags.DEFINE_string(
        "output_dir",
        None,
        "Folder for train-00000-of-00064.tfrecord and so on, heldout-*, vocab.txt and, written "
        "last, dataset.json.",
        required=True,
    )
    flags.DEFINE_integer("num_shards", 64, "Number of train shards.", 1, 99_999)
    flags.DEFINE_integer(
        "max_seq_length", 128, "Most tokens in a record, begin and end included.", lower_bound=3
    )
    flags.DEFINE_enum(
        "long_sentences",
        "truncate",
        ["truncate", "drop"],
        "What to do with sentences of more tokens than --max_seq_length; the summary counts them.",
    )
    flags.DEFINE_integer(
        "min_tokens",
        2,
        "Drop sentences of fewer word pieces; the summary counts them.",
        lower_bound=1,
    )
    flags.DEFINE_float(
        "heldout_fraction",
        0.01,
        "Share of the sentences to hold out for evaluation, 0 to 1. Copies of a sentence, whatever "
        "their case and punctuation, are all on one side.",
        0,
        1,
    )
    flags.DEFINE_float(
        "spoken_fraction",
        0.0,
        "Share of the sentences, 0 to 1, to replace by what a speech recogniser would print: "
        "lower-case letters and apostrophes. Those with digits stay as they are.",
        0,
        1,
    )
    flags.DEFINE_bool("lower_case", True, "Lower-case the text and strip its accents.")
    common.define_seed()
    common.define_overwrite()
    flags.adopt_module_key_flags(common)
