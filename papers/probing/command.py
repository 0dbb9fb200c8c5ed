"""Measures what a linear classifier reads off frozen vectors: labels of sentences, named entities.

Example:

    tta probe --model=small --model=random:small --data_file=reviews.tsv
"""

from tta import cli
from tta.papers.probing.config import ProbeConfig
from tta.scoring.scorers.options import EncodeOptions, SeveralModels


def main(config: ProbeConfig, models: SeveralModels, options: EncodeOptions) -> None:
    from tta.papers.probing.probe import probe_files

    print(probe_files(config, models.names, options))


run = cli.command(main, ProbeConfig, SeveralModels, EncodeOptions)
