"""Reranks N-best lists with one or several language models.

Example:

    tta rerank --nbest_file=examples/asr.test.json --dev_nbest_file=examples/asr.dev.json
"""

import os
import sys

from tta import cli
from tta.scoring.combining.weights import split_lm_weights
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.scorers.options import RerankOptions, SeveralModels


def check(models: SeveralModels, config: RerankConfig, options: RerankOptions) -> None:
    """Raises InputError unless there is one weight per model, and one model for each level."""
    config.with_levels(models.names_or_none)
    split_lm_weights(config.lm_weight, len(models.names_or_none))


def main(models: SeveralModels, config: RerankConfig, options: RerankOptions) -> None:
    # NumPy's products are small here: more threads would wait longer than they compute. NumPy reads
    # it when it is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from tta.scoring.reranking.rerank import rerank_files

    report = rerank_files(config, models.names_or_none, options)
    outputs = [config.output_file, config.best_file, config.scores_file]
    outputs += [config.confidence, config.report]
    print(report, file=sys.stderr if "-" in outputs else sys.stdout)


run = cli.command(main, SeveralModels, RerankConfig, RerankOptions, check=check)
