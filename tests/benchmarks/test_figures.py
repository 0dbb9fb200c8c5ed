"""Figures of README and the docs are those that the commands wrote as JSON.

test_paper.py compares whole pages with docs/results.json, and test_readme_commands.py the table of
the quick start with what the command prints.
"""

import json
import re
import statistics

import pytest

from benchmarks import ROOT

RECORD = json.loads((ROOT / "docs/results.json").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMPARISON = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
GLUE = json.loads((ROOT / "benchmarks/nar/glue.json").read_text(encoding="utf-8"))

VECTORS = {"mean of the last layer": "context", "token": "token/whitened", "joint": "joint"}
PAIRS = {"STS-B dev": ("table3", "dev"), "STS-B test": ("table3", "test")}
PAIRS["SICK test"] = ("table4", "test")


def rows(page, heading):
    """The cells of the rows of the table whose first line has `heading`."""
    lines = page.partition(heading)[2].splitlines()[2:]
    table = lines[: lines.index("")]
    return [[cell.strip(" *") for cell in line[1:-1].split("|")] for line in table]


def test_similarities_of_the_built_in_model():
    name, found = "", 0
    for pairs, vectors, pearson, spearman in rows(COMPARISON, "| sentence pairs |"):
        name = pairs or name
        table, column = PAIRS[name]
        row = next(f"T-TA, {kind}" for text, kind in VECTORS.items() if text in vectors)
        assert pearson == f"{RECORD[table]['rows'][row][column]:.2f}", (name, row)
        finding = f"{row}, {column}: Spearman's rho x 100 {spearman}"
        assert finding in RECORD[table]["findings"]
        found += 1
    assert found == 9
    best = RECORD["table3"]["rows"]["T-TA, joint"]
    shown = re.search(r"Pearson x 100 of ([\d.]+) on STS-B dev and ([\d.]+) on", README).groups()
    assert shown == (f"{best['dev']:.2f}", f"{best['test']:.2f}")


@pytest.mark.parametrize(("number", "column"), [(0, "Arctic clean"), (1, "Arctic snr5")])
def test_lists_of_readme(number, column):
    measured = RECORD["table1"]["rows"]
    _, _, first, _, _, oracle, _ = rows(README, "| list | metric |")[number]
    assert first == f"{measured['first pass'][column]:.2f}"
    assert oracle == f"{measured['oracle'][column]:.2f}"


def test_readme_has_the_figures_of_the_results_page():
    """Both tables show the same runs: README some columns of some rows."""
    all_rows = rows(COMPARISON, "| list | metric |")
    for _, metric, first, no_model, reranked, oracle, gain in rows(README, "| list | metric |"):
        assert any(
            [metric, first, no_model, reranked, oracle, gain]
            == [row[1], row[2], row[3], row[6], row[7], row[8]]
            for row in all_rows
        ), gain


def test_the_glue_table_has_the_seeds_of_its_file():
    pages = [ROOT / "docs/classification.md", ROOT / "docs/experiments/classification.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages if page.exists())
    head = re.search(r"^\| \| (WNLI .*?) \|$", text, re.MULTILINE)[1].split(" | ")
    tasks = [re.sub(r" \(F1\)|-|, .*", "", name).lower() for name in head[:-1]]
    assert set(tasks) == {name.replace("-", "") for name in GLUE}
    for model, *cells in rows(text, "| | WNLI "):
        if model.startswith(("`random", "`small", "`base", "`encoder", "`decoder")):
            for task, cell in zip(tasks, cells, strict=False):
                values = GLUE[task][model.strip("`")]["values"]
                mean, _, deviation = cell.replace("*", "").partition(" ± ")
                assert mean == f"{statistics.mean(values):.1f}", (model, task)
                if deviation:
                    assert deviation == f"{statistics.stdev(values):.1f}", (model, task)
