"""Flags of tta-score."""

from absl import flags

from tta.flags import common, scoring


def define():
    """Defines the flags of tta-score."""
    flags.DEFINE_string(
        "input_file",
        None,
        "Sentences to score, UTF-8, one a line; plain, .gz or .xz; - is standard input.",
        required=True,
    )
    flags.DEFINE_string(
        "output_file",
        "-",
        "Where the scores go, a JSON object a line, in the order of the input: score (natural log, "
        "the sum over the tokens, higher is better) and num_tokens. Compressed where it ends in "
        ".gz or .xz; - is standard output.",
    )
    flags.DEFINE_bool("text", False, "Put the sentence into its line of the output, as `text`.")
    flags.DEFINE_bool(
        "tokens",
        False,
        "Put the tokens and the log-probability of each into the output, as `tokens` and "
        "`log_probabilities`.",
    )
    scoring.define()
    scoring.define_pll_variant()
    common.define_boundary_tokens()
    common.define_overwrite()
    flags.adopt_module_key_flags(scoring)
    flags.adopt_module_key_flags(common)
    flags.register_validator(
        "model", lambda models: models is None or len(models) == 1, "is given once"
    )
