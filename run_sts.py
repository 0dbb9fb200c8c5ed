"""Compares sentence pairs and correlates with people's scores: run_sts.py --help."""

import dataclasses
import sys

from absl import flags

from tta import cli
from tta.flags import scoring as scoring_flags
from tta.flags import sts as command_flags

FLAGS = flags.FLAGS


def main():
    from tta.scoring.similarity.sts import StsConfig, compare_files

    config = StsConfig(
        **{field.name: FLAGS[field.name].value for field in dataclasses.fields(StsConfig)}
    )
    report = compare_files(config, scoring_flags.models(FLAGS), **scoring_flags.load_options(FLAGS))
    print(report, file=sys.stderr if FLAGS.output_file == "-" else None)


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main)
