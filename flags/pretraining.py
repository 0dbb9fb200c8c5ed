"""Trains a language model on TFRecord shards: run_pretraining.py --help.

An interrupted run resumes from its last checkpoint when you repeat the command.
"""

import sys

from tta import cli
from tta.modeling.training.config import PretrainingConfig


def main(config: PretrainingConfig) -> None:
    from tta.modeling.training.pretrain import pretrain

    result = pretrain(config)
    if not result.finished:
        print("stopped; repeat the command to resume from the last checkpoint", file=sys.stderr)
    elif result.directory:
        print(result.directory)


run = cli.command(main, PretrainingConfig)
