"""docs/levels.md has the figures of docs/levels.json."""

import json

from benchmarks.levels import table
from tests.commands import ROOT


def test_the_page_has_the_figures_that_were_measured():
    record = json.loads((ROOT / "docs/levels.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/levels.md").read_text(encoding="utf-8")
    for name, row in zip(record, table(record)[1:], strict=True):
        assert f"| {name} | {' | '.join(row[1:])} |" in page
    seconds = record["Arctic 5 dB"]["seconds"]
    small, levels, whole = (
        f"{1000 * seconds[f'tuned {n}']:.0f}" for n in ("small", "levels", "cloze-base")
    )
    guessed = f"{1000 * seconds['guessed levels']:.0f}"
    assert f"small {small} ms, levels {levels} ({guessed}), cloze-base on all {whole}" in page
