"""Scores N-best lists on Apache Beam.

Example:

    tta beam-score --nbest_file='lists/*.jsonl' --output_dir=scores \\
        -- --runner=FlinkRunner --flink_master=localhost:8081

Arguments after `--` are passed to Beam.
"""

from tta import cli
from tta.scoring.reranking.config import BeamScoreConfig
from tta.scoring.scorers.options import OneModel, RerankOptions


def main(
    config: BeamScoreConfig, model: OneModel, options: RerankOptions, arguments: list[str]
) -> None:
    from tta.data.corpus import beam_common  # noqa: F401  reports a missing Beam
    from tta.scoring.reranking.beam import score_files

    info = score_files(config, model.name, arguments, **options.for_load())
    counts = info["counts"]
    print(
        f"{config.output_dir}: {counts['lists']:,} lists, {counts['hypotheses']:,} hypotheses, "
        f"{counts['tokens']:,} tokens"
    )
    print(info["signature"])


run = cli.command(main, BeamScoreConfig, OneModel, RerankOptions, passes_on=True)
