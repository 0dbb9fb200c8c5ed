"""Trains a language model on raw text, or on a data set of tta create-tfrecords.

Examples:

    tta pretrain --input_file=text.txt --config_file=configs/small.json --output_dir=runs/mine
    tta pretrain --input_dir=tfrecords --config_file=configs/small.json --output_dir=runs/mine

SIGTERM and Ctrl-C stop a run after the current step: it saves a checkpoint and exits with status
143 or 130. An interrupted run resumes from its last checkpoint when you repeat the command. With
the environment variable KERAS_BACKEND=jax, JAX computes the steps (docs/gpu.md).
"""

import sys

from tta import cli
from tta.modeling.training.config import PretrainingConfig


def main(config: PretrainingConfig) -> None:
    from tta.modeling.training.pretrain import pretrain

    result = pretrain(config)
    if not result.finished:
        sys.exit(cli.TERMINATED)
    if result.directory:
        print(result.directory)


run = cli.command(main, PretrainingConfig)
