"""Flags of run_sts.py."""

from absl import flags

from tta.flags import common, scoring

REPRESENTATIONS = ("context", "embed")


def define():
    """Defines the flags of run_sts.py."""
    flags.DEFINE_list(
        "sts_file",
        None,
        "Pairs of sentences with a gold similarity: comma-separated paths or globs; - is standard "
        "input. STS-B's tab layout, SICK, csv (sentence, sentence, score); told by the content.",
        required=True,
    )
    flags.DEFINE_list(
        "representation",
        ["context"],
        "What a sentence's vector is the mean of: context (the last layer's outputs), embed (the "
        "embedding layer's), or both, comma-separated.",
    )
    flags.DEFINE_string(
        "output_file",
        None,
        "Where every pair's cosine goes, tab-separated with a header; - is standard output (the "
        "report then goes to standard error).",
    )
    common.define_overwrite()
    scoring.define()
    flags.adopt_module_key_flags(common)
    flags.adopt_module_key_flags(scoring)
    flags.register_validator(
        "representation",
        lambda values: sorted(set(values) & set(REPRESENTATIONS)) == sorted(values) != [],
        "must be context, embed or context,embed",
    )
    flags.register_validator(
        "model", lambda models: models is None or len(models) == 1, "is given once"
    )
