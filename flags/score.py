"""Scores sentences, one per line.

Example:

    tta-score --input_file=examples/train.txt --output_file=scores.jsonl
"""

import sys

from tta import cli
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.options import OneModel, ScoreOptions


def main(config: ScoreConfig, model: OneModel, options: ScoreOptions) -> None:
    from tta.scoring.scorers.files import score_file

    report = score_file(config, model.name, **options.for_load())
    print(report, file=sys.stderr if config.output_file == "-" else sys.stdout)


run = cli.command(main, ScoreConfig, OneModel, ScoreOptions)
