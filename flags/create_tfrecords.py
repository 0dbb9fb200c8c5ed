"""Turns raw text into shuffled TFRecord shards for pretraining.

Example:

    tta create-tfrecords --input_file=corpus.txt.xz --vocab_file=vocab.txt --output_dir=tfrecords
"""

import sys
import time

from tta import cli
from tta.data.corpus.config import LocalCorpusConfig


def main(config: LocalCorpusConfig) -> None:
    from tta.data.corpus.output import summary
    from tta.data.corpus.prepare import create_tfrecords

    start = time.monotonic()
    info = create_tfrecords(config)
    print(summary(info, time.monotonic() - start), file=sys.stderr)


run = cli.command(main, LocalCorpusConfig)
