"""Scores N-best lists on Apache Beam: tta-beam-score --help.

What stands after `--` is Beam's: `-- --runner=FlinkRunner --flink_master=...`
"""

from absl import flags

from tta import cli
from tta.flags import beam_score as command_flags
from tta.flags import scoring as scoring_flags

FLAGS = flags.FLAGS


def main(arguments):
    from tta.data.corpus.beam_common import find_files

    paths = find_files(FLAGS.nbest_file)
    from tta.scoring.combining.scored_lists import RerankWeights
    from tta.scoring.reranking.beam import score_files

    (model,) = scoring_flags.models(FLAGS)
    info = score_files(
        paths,
        FLAGS.output_dir,
        RerankWeights(FLAGS.lm_weight, FLAGS.length_bonus, FLAGS.reduction),
        arguments,
        model=model,
        format=FLAGS.format,
        beam_size=FLAGS.beam_size,
        num_shards=FLAGS.num_shards,
        overwrite=FLAGS.overwrite,
        score_boundary_tokens=FLAGS.score_boundary_tokens,
        **scoring_flags.load_options(FLAGS),
    )
    counts = info["counts"]
    print(
        f"{FLAGS.output_dir}: {counts['lists']:,} lists, {counts['hypotheses']:,} hypotheses, "
        f"{counts['tokens']:,} tokens"
    )
    print(info["signature"])


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main, passes_on=True)
