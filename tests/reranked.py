"""Reranks lists by both decisions in one process, which scores their texts once."""

import functools
import json
import sys
import tempfile
from pathlib import Path

import pytest

import tta
from tests.commands import run_command


def by_decision(engine, flags):
    """{decision: [{id: {rank: hypothesis}}, what the command printed]}."""
    load, found = tta.load, {}

    @functools.cache
    def load_once(*arguments, **options):
        lm = load(*arguments, **options)
        scored = functools.cache(lm.score_with_counts)
        lm.score_with_counts = lambda texts, progress=False: scored(tuple(texts))
        return lm

    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(tta, "load", load_once)
        for decision in ("max", "mbr"):
            path = Path(folder) / decision
            more = f"--engine={engine}", f"--decision={decision}", f"--output_file={path}"
            done = run_command("tta-rerank", *flags, *more)
            assert done.returncode == 0, done.stderr
            found[decision] = [json.loads(path.read_text(encoding="utf-8")), done.stdout]
    return found


def main():
    """Prints what `by_decision` makes of the engine and the flags."""
    engine, *flags = sys.argv[1:]
    print(json.dumps(by_decision(engine, flags)))
