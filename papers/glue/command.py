"""Fine-tunes a model on labelled texts, so that it labels others: GLUE, or files of your own.

Example:

    tta classify --model=small --train_file=train.tsv --dev_file=dev.tsv --output_dir=my-classifier

Each line of the files is a label, a tab and a text; for pairs, a tab and a second text follow. The
command prints means and standard deviations over seeds. tta.load("my-classifier").predict(texts)
labels texts, and tta export --model=my-classifier writes the model for a server. If the command is
interrupted, repeat it to go on.
"""

import sys

from tta import cli
from tta.papers.glue.classify_config import ClassifyConfig
from tta.scoring.scorers.options import OneModel


def main(config: ClassifyConfig, model: OneModel) -> None:
    from tta.papers.glue.classify import classify

    report = classify(config, model.name)
    if report is None:
        sys.exit(cli.TERMINATED)
    print(report)


run = cli.command(main, ClassifyConfig, OneModel)
