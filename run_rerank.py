"""Reranks N-best lists with a language model: run_rerank.py --help."""

import dataclasses
import sys

from absl import flags

from tta import cli
from tta.flags import rerank as command_flags
from tta.flags import scoring as scoring_flags

FLAGS = flags.FLAGS


def main():
    from tta.scoring.reranking.rerank import RerankConfig, rerank_files

    config = RerankConfig(
        **{field.name: FLAGS[field.name].value for field in dataclasses.fields(RerankConfig)}
    )
    report = rerank_files(
        config,
        scoring_flags.models(FLAGS),
        score_boundary_tokens=FLAGS.score_boundary_tokens,
        **scoring_flags.load_options(FLAGS),
    )
    outputs = FLAGS.output_file, FLAGS.scores_file, FLAGS.report
    print(report, file=sys.stderr if "-" in outputs else None)


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main)
