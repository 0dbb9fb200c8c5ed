"""Fits on text what `--pooling=sif` and `--pooling=whitened` need.

Example:

    tta fit-pooling --model=runs/mine --input_file=corpus.txt.xz
"""

from tta import cli
from tta.scoring.scorers.config import FitPoolingConfig
from tta.scoring.scorers.options import EncodeOptions


def main(config: FitPoolingConfig, options: EncodeOptions) -> None:
    from tta.scoring.scorers.files import fit_pooling_on_files

    print(fit_pooling_on_files(config, options))


run = cli.command(main, FitPoolingConfig, EncodeOptions)
