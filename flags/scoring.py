"""Flags of the commands that score or encode text with a model."""

from absl import flags

from tta.flags import common

PLL_VARIANTS = ["original", "within_word_l2r", "maskless"]


def define():
    """Defines --model and how text is fed to it."""
    common.define_model()
    flags.DEFINE_enum(
        "long_sentences",
        "window",
        ["window", "refuse"],
        "A sentence longer than the model takes is scored in overlapping windows, or refused with "
        "an error. It is never cut silently.",
    )
    flags.DEFINE_integer(
        "batch_tokens",
        None,
        "Tokens in one batch, padding included: lower it if memory runs out. Default: the model's "
        "own choice. Scores do not depend on it.",
        lower_bound=1,
    )
    flags.DEFINE_enum(
        "precision",
        "float32",
        ["float32", "bfloat16"],
        "Precision of the model's products; bfloat16 is faster where the hardware has it, and "
        "rounds scores. It means nothing to models without matrix products, such as n-grams.",
    )
    flags.DEFINE_enum(
        "normalizer",
        "auto",
        ["auto", "exact", "learned"],
        "exact: token scores are log-probabilities. learned: without the sum over the vocabulary, "
        "faster, for models trained with --log_normalizer_weight, whose sum is near 1. auto: "
        "learned where the model was trained for it, the built-in one for example, else exact.",
    )
    flags.adopt_module_key_flags(common)


def models(values):
    """What each --model says, for `tta.load`: a list, None for the built-in model.

    Args:
        values: the parsed `flags.FLAGS`.
    """
    return [model or None for model in values.model or [None]]


def define_pll_variant():
    """--pll_variant: what a token's score, and its state, are computed from."""
    flags.DEFINE_enum(
        "pll_variant",
        "original",
        PLL_VARIANTS,
        "What a piece's score is computed from (docs/scoring.md): original, all other pieces, or "
        "those before it for a uniLM; within_word_l2r, the same without the later pieces of its "
        "own word; maskless (biLM and BERT only), one pass in which it sees itself.",
    )


def load_options(values):
    """The flags above as options of `tta.load`; what was not given is left to its defaults.

    Args:
        values: the parsed `flags.FLAGS`.
    """
    options = {
        name: getattr(values, name) for name in ("long_sentences", "precision", "normalizer")
    }
    if "pll_variant" in values:
        options["pll_variant"] = values.pll_variant
    if values.batch_tokens is not None:
        options["batch_tokens"] = values.batch_tokens
    return options
