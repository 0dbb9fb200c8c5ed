"""Fits the statistics that `--pooling=sif|whitened` need: tta-fit-pooling --help."""

from tta import cli
from tta.scoring.scorers.config import FitPoolingConfig
from tta.scoring.scorers.options import EncodeOptions


def main(config: FitPoolingConfig, options: EncodeOptions) -> None:
    from tta.scoring.scorers.files import fit_pooling_on_files

    print(fit_pooling_on_files(config, **options.for_load()))


run = cli.command(main, FitPoolingConfig, EncodeOptions)
