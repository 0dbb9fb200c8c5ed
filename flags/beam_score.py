"""Flags of tta-beam-score."""

import math

from absl import flags

from tta.flags import common, rerank, scoring


def define():
    """Defines the flags of tta-beam-score."""
    _define_files()
    _define_weights()
    scoring.define()
    scoring.define_pll_variant()
    common.define_boundary_tokens()
    flags.register_validator(
        "model", lambda models: models is None or len(models) == 1, "is given once"
    )
    flags.adopt_module_key_flags(common)
    flags.adopt_module_key_flags(scoring)


def _define_files():
    flags.DEFINE_list(
        "nbest_file",
        None,
        "N-best lists to score: comma-separated paths or globs, plain, .gz or .xz. A worker reads "
        "a file: jsonl list by list, the other formats whole.",
        required=True,
    )
    flags.DEFINE_enum(
        "format", None, rerank.FORMATS, "Format of the files. Default: told by their content."
    )
    flags.DEFINE_integer(
        "beam_size",
        None,
        "Hypotheses per list in tsv files of text<TAB>score, which do not say it.",
        lower_bound=1,
    )
    flags.DEFINE_string(
        "output_dir",
        None,
        "Folder for scores-00000-of-00016.jsonl and so on and, written last, scores.json: the "
        "scores' signature and counts. The rows are those of run_rerank.py --scores_file, natural "
        "log, each with the file that it is from; the lists' order is the engine's.",
        required=True,
    )
    flags.DEFINE_integer(
        "num_shards", 0, "Number of files to write; 0 leaves it to the engine.", 0, 99_999
    )
    common.define_overwrite()


def _define_weights():
    flags.DEFINE_float(
        "lm_weight",
        1.0,
        "Weight w of the language model in `combined`, (1 - w) * first pass + w * language model: "
        "what run_rerank.py tuned on a dev file. The rows have both scores whatever it is.",
        0,
        1,
    )
    flags.DEFINE_float(
        "length_bonus", 0.0, "Added to `combined` per word, natural log; may be negative."
    )
    flags.DEFINE_enum(
        "reduction",
        "sum",
        ["sum", "mean"],
        "The language model's score is the sum or the mean of its token scores.",
    )
    flags.register_validator("length_bonus", math.isfinite, "must be a finite number")
