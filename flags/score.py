"""Scores sentences, one per line, or minimal pairs.

Example:

    tta score 'the cat sat on the mat'
    tta score --input_file=examples/train.txt --output_file=scores.jsonl
"""

import sys

from tta import cli
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.inference.unfinished import naming_resume
from tta.scoring.scorers.options import OneModel, ScoreOptions


def main(config: ScoreConfig, model: OneModel, options: ScoreOptions) -> None:
    files = config.pairs or [config.input_file or ("-" if config.texts is None else "")]
    if files == ["-"] and sys.stdin is not None and sys.stdin.isatty():
        print("one sentence per line; Ctrl-D ends", file=sys.stderr)
    with naming_resume(config.written):
        if config.pairs is None:
            from tta.scoring.scorers.files import score_file as score
        else:
            from tta.scoring.minimal_pairs.files import score_pairs as score
        report = score(config, model.name, options)
    print(report, file=sys.stderr if report.output_file == "-" else sys.stdout)


SPLIT = "split -n l/4 cuts a file into parts, and cat joins their scores, see docs/scaling.md"
GONE = {"shard": SPLIT, "merge_shards": SPLIT}

run = cli.command(main, ScoreConfig, OneModel, ScoreOptions, gone=GONE)
