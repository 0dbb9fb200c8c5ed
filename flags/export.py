"""Flags of tta-export."""

from absl import flags

from tta.flags import common, scoring


def define():
    """Defines the flags of tta-export."""
    flags.DEFINE_string(
        "output_dir",
        None,
        "Folder to write, the model's name and a version number as TF Serving wants them: "
        "models/tta/1. One that exists is refused; a new model is a new version.",
        required=True,
    )
    flags.DEFINE_enum(
        "reduction",
        "sum",
        ["sum", "mean"],
        "What the signature rerank takes of a hypothesis's token scores.",
    )
    scoring.define()
    scoring.define_pll_variant()
    common.define_boundary_tokens()
    flags.adopt_module_key_flags(scoring)
    flags.adopt_module_key_flags(common)
    flags.register_validator(
        "model", lambda models: models is None or len(models) == 1, "is given once"
    )
