"""Adapts a model to your own text, for example to rerank the lists of one domain.

Example:

    tta-adapt --input_file=my_text.txt --output_dir=my-model

A few thousand sentences take some minutes on two cores. `tta-rerank --model=my-model` then uses the
result. The text should look like the sentences to score: without punctuation if these have none.
"""

import sys

from tta import cli
from tta.scoring.adaptation.config import AdaptationConfig
from tta.scoring.scorers.options import OneModel


def main(config: AdaptationConfig, model: OneModel) -> None:
    from tta.scoring.adaptation.adapt import adapt

    report = adapt(config, model.name)
    if report is None:
        sys.exit(cli.TERMINATED)
    print(report)


run = cli.command(main, AdaptationConfig, OneModel)
