"""Flags that several commands share."""

from absl import flags


def define_model():
    """--model: which model scores, or several."""
    flags.DEFINE_multi_string(
        "model",
        None,
        "Model directory (config.json, vocab.txt, model.weights.h5), or a directory of the "
        "original TensorFlow 1 code; what else tta.load takes. Default: the built-in model. "
        "run_rerank.py takes the flag several times; `--model=` is the built-in model there.",
    )


def define_raw_text():
    """--input_file: raw text to read."""
    flags.DEFINE_list(
        "input_file",
        None,
        "Raw text, UTF-8, one sentence a line: comma-separated paths or globs, plain, .gz or .xz; "
        "- is standard input.",
        required=True,
    )


def define_overwrite():
    """--overwrite: whether outputs may replace files that exist."""
    flags.DEFINE_bool("overwrite", False, "Replace output files that exist.")


def define_seed(default=0):
    """--seed: the seed of everything random."""
    flags.DEFINE_integer(
        "seed", default, "Seed of everything random: same seed, same result.", lower_bound=0
    )


def define_boundary_tokens():
    """--score_boundary_tokens: whether begin and end tokens count in a score."""
    flags.DEFINE_bool(
        "score_boundary_tokens",
        False,
        "Count the begin and end tokens' log-probabilities in a sentence's score. They are context "
        "for the other tokens either way. Other tools differ in this; the signature says which.",
    )
