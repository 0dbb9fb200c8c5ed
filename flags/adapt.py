"""Adapts a model to your own text or N-best lists, for example to rerank the lists of one domain.

Example:

    tta adapt --input_file=my_text.txt --output_dir=my-model

A few thousand sentences take some minutes on two cores. `tta rerank --model=my-model` then uses the
result. The text should look like the sentences to score: without punctuation if these have none.

Give --nbest_file=my_lists.json instead of --input_file to adapt to N-best lists with references. A
third of the references is held out: their lists are written to my-model/heldout.jsonl. Tune the
weights on them, with --dev_nbest_file, and never on lists that the model was trained on.
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
