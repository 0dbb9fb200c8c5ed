"""Writes a model for TensorFlow Serving or another library.

Example:

    tta export --model=runs/mine --output_dir=models/tta/1
    tta export --format=sentence_transformers --pooling=whitened --output_dir=vectors
"""

import sys
from dataclasses import replace

from tta import cli
from tta.atomic import check_absent
from tta.scoring.exports.config import ExportConfig
from tta.scoring.exports.formats import SAVED_MODEL, export_folder
from tta.scoring.scorers.options import OneModel, ScoreOptions


def main(config: ExportConfig, model: OneModel, options: ScoreOptions) -> None:
    from tta.scoring.exports.serving.export import check_output_dir, export

    if config.format != SAVED_MODEL:
        check_absent(config.output_dir)
        lm = options.load(model.name)
        signature = export_folder(
            lm,
            config.output_dir,
            config.format,
            representation=config.representation,
            pooling=config.pooling,
        )
        print(f"{config.output_dir}: {signature}")
        return
    check_output_dir(config.output_dir)  # before the model is loaded, which takes a while
    lm = replace(options, engine="tensorflow").load(model.name)
    export(lm, config.output_dir)
    print(f"{config.output_dir}: {lm.signature}")
    if lm.tokenizer.normalization != "nfkc":
        print(
            "note: the served graph reads some characters beyond ASCII in another way "
            "(docs/serving.md)",
            file=sys.stderr,
        )


CLIENT = "a served model scores, and a client reranks in five lines, see docs/serving.md"
GONE = {"reduction": CLIENT, "keep_non_words": CLIENT}

run = cli.command(main, ExportConfig, OneModel, ScoreOptions, gone=GONE)
