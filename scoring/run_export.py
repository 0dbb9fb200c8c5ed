"""Writes a model for TF Serving: tta-export --help."""

from absl import flags

import tta
from tta import cli
from tta.flags import export as command_flags
from tta.flags import scoring as scoring_flags
from tta.scoring.serving.export import check_output_dir, export

FLAGS = flags.FLAGS


def main():
    # First: a name that cannot be taken is told before the work and not after it.
    check_output_dir(FLAGS.output_dir)
    (model,) = scoring_flags.models(FLAGS)
    lm = tta.load(
        model,
        score_boundary_tokens=FLAGS.score_boundary_tokens,
        **scoring_flags.load_options(FLAGS),
    )
    export(lm, FLAGS.output_dir, FLAGS.reduction)
    print(f"{FLAGS.output_dir}: {lm.signature}")


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main)
