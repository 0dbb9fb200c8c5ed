"""Turns raw text into TFRecord shards on Apache Beam.

Example:

    tta beam-create-tfrecords --input_file='corpus/*.xz' --vocab_file=vocab.txt \\
        --output_dir=tfrecords -- --runner=FlinkRunner --flink_master=localhost:8081

Arguments after `--` are passed to Beam.
"""

import sys
import time

from tta import cli
from tta.data.corpus.config import CorpusConfig


def main(config: CorpusConfig, arguments: list[str]) -> None:
    from tta.data.corpus import beam_common  # noqa: F401  reports a missing Beam
    from tta.data.corpus.beam_prepare import create_tfrecords
    from tta.data.corpus.output import summary

    start = time.monotonic()
    info = create_tfrecords(config, arguments)
    print(summary(info, time.monotonic() - start), file=sys.stderr)


run = cli.command(main, CorpusConfig, passes_on=True)
