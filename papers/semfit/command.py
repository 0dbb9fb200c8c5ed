"""Makes a vector for each word piece or word, which a SemFit model then learns to predict.

Example:

    tta create-vectors --input_dir=tfrecords --output_dir=vectors
"""

import sys

from tta import cli
from tta.papers.semfit.create_config import VectorsConfig


def main(config: VectorsConfig) -> None:
    from tta.papers.semfit.create import create_vectors

    vectors = create_vectors(config)
    count, size = vectors.shape
    missing = int((~vectors.any(axis=1)).sum())
    note = f", {missing:,} of them zeros" if missing else ""
    print(f"{config.output_dir}: {count:,} vectors, {size:,} numbers each{note}", file=sys.stderr)


run = cli.command(main, VectorsConfig)
