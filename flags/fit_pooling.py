"""Flags of tta-fit-pooling."""

from absl import flags

from tta.flags import common, scoring


def define():
    """Defines the flags of tta-fit-pooling."""
    common.define_raw_text()
    flags.DEFINE_integer(
        "num_counted",
        200_000,
        "Sentences, drawn uniformly from all, in which pieces are counted.",
        lower_bound=1,
    )
    flags.DEFINE_integer(
        "num_whitening",
        20_000,
        "Sentences, drawn likewise, whose pieces' vectors the whitening is fitted on; with more "
        "pieces than the hidden size.",
        lower_bound=1,
    )
    scoring.define()
    scoring.define_pll_variant()
    common.define_seed()
    common.define_overwrite()
    flags.adopt_module_key_flags(scoring)
    flags.adopt_module_key_flags(common)
    flags.mark_flag_as_required("model")
    flags.register_validator(
        "model", lambda models: not models or len(models) == 1, "is given once, a directory"
    )
