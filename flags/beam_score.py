"""Scores N-best lists on Apache Beam: tta-beam-score --help.

Arguments after `--` are passed to Beam: `-- --runner=FlinkRunner --flink_master=...`
"""

from tta import cli
from tta.scoring.reranking.config import BeamScoreConfig
from tta.scoring.scorers.options import OneModel, ScoreOptions


def main(
    config: BeamScoreConfig, model: OneModel, options: ScoreOptions, arguments: list[str]
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


run = cli.command(main, BeamScoreConfig, OneModel, ScoreOptions, passes_on=True)
