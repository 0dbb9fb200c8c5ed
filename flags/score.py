"""Scores sentences, one per line, or minimal pairs.

Example:

    tta-score 'the cat sat on the mat'
    tta-score --input_file=examples/train.txt --output_file=scores.jsonl
"""

import contextlib
import dataclasses
import os
import stat
import sys
from typing import Any

from tta import cli
from tta.errors import InputError
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.options import OneModel, ScoreOptions


def check(config: ScoreConfig, *_: Any) -> None:
    """Raises InputError if there is nothing to score."""
    if not _has_input(config) and not _is_fed():
        raise InputError("a text, --input_file or --pairs is required")


def main(config: ScoreConfig, model: OneModel, options: ScoreOptions) -> None:
    if not _has_input(config):
        config = dataclasses.replace(config, input_file="-")
    files = config.pairs or [config.input_file or ""]
    if config.pairs is None:
        from tta.scoring.scorers.files import score_file as score
    else:
        from tta.scoring.minimal_pairs.files import score_pairs as score
    report = score(config, model.name, **options.for_work([model.name], files))
    print(report, file=sys.stderr if report.output_file == "-" else sys.stdout)


def _has_input(config):
    return any(one is not None for one in (config.input_file, config.texts, config.pairs))


def _is_fed():
    """Whether standard input is a pipe or a file: neither a terminal nor /dev/null."""
    with contextlib.suppress(AttributeError, OSError):  # it is closed, or no file of the system
        return not stat.S_ISCHR(os.fstat(sys.stdin.fileno()).st_mode)


run = cli.command(main, ScoreConfig, OneModel, ScoreOptions, check=check)
