"""Flags of run_sts.py."""

from absl import flags

from tta.flags import common, scoring

POOLINGS = ("mean", "sif", "whitened")


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
        None,
        "What a sentence's vector is, comma-separated: context (mean of the last layer's outputs), "
        "embed (mean of the embedding layer's outputs, or of word vectors), token (mean of the "
        "pieces' rows of the token table), cls and eos (the last "
        "layer's output at the begin or the end token). Default: the first that the model has, "
        "which is context for language models and embed for word vectors.",
    )
    flags.DEFINE_list(
        "pooling",
        ["mean"],
        "How pieces' vectors become a sentence's, comma-separated: mean (the paper's); sif, rare "
        "pieces count more; whitened, sif of pieces' vectors whose directions are scaled to "
        "vary alike and whose lengths are made 1. The last two need the model directory's "
        "pooling.npz, see tta-fit-pooling.",
    )
    flags.DEFINE_string(
        "output_file",
        None,
        "Where every pair's cosine goes, tab-separated with a header; - is standard output (the "
        "report then goes to standard error).",
    )
    common.define_overwrite()
    scoring.define()
    scoring.define_pll_variant()
    flags.adopt_module_key_flags(common)
    flags.adopt_module_key_flags(scoring)
    flags.register_validator(
        "representation",
        lambda values: values is None or (len(set(values)) == len(values) > 0 and all(values)),
        "must name at least one, and none twice",
    )
    flags.register_validator(
        "pooling",
        lambda values: len(set(values)) == len(values) > 0 and set(values) <= set(POOLINGS),
        f"must be of {', '.join(POOLINGS)}, at least one, and none twice",
    )
