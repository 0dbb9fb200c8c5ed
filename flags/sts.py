"""Compares sentence pairs and correlates the result with gold scores: run_sts.py --help."""

import sys

from tta import cli
from tta.scoring.scorers.options import EncodeOptions, SeveralModels
from tta.scoring.similarity.config import StsConfig


def main(config: StsConfig, models: SeveralModels, options: EncodeOptions) -> None:
    from tta.scoring.similarity.sts import compare_files

    report = compare_files(config, models.names, **options.for_load())
    print(report, file=sys.stderr if config.output_file == "-" else sys.stdout)


run = cli.command(main, StsConfig, SeveralModels, EncodeOptions)
