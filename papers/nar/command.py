"""Measures how well an autoencoder writes texts down again from one vector.

Example:

    tta reconstruct --model=runs/nar --input_file=examples/sentences.txt

The controls are always beside the result: the latent vector of another text, the vector 0, and the
most frequent piece at each position.
"""

from tta import cli
from tta.papers.nar.reconstruct_config import ReconstructConfig
from tta.scoring.scorers.options import OneModel


def main(config: ReconstructConfig, model: OneModel) -> None:
    from tta.papers.nar.reconstruct import reconstruct

    print(reconstruct(config, model.name))


run = cli.command(main, ReconstructConfig, OneModel)
