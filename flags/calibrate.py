"""Calibrates a model for int8, and writes what makes it start soon: `light.safetensors`.

Example:

    tta calibrate --model=runs/mine --input_file=corpus.txt.xz
"""

from tta import cli
from tta.scoring.scorers.config import CalibrateConfig


def main(config: CalibrateConfig) -> None:
    from tta.scoring.scorers.files import calibrate_on_files

    print(calibrate_on_files(config))


run = cli.command(main, CalibrateConfig)
