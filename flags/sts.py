"""Compares sentence pairs and correlates the result with gold scores.

Example:

    tta sts --sts_file=examples/sts.csv --representation=context,embed
"""

import sys

from tta import cli
from tta.scoring.scorers.options import EncodeOptions, SeveralModels
from tta.scoring.similarity.config import StsConfig


def main(config: StsConfig, models: SeveralModels, options: EncodeOptions) -> None:
    from tta.scoring.similarity.sts import compare_files

    report = compare_files(config, models.names, options)
    print(report, file=sys.stderr if report.output_file == "-" else sys.stdout)


run = cli.command(main, StsConfig, SeveralModels, EncodeOptions)
