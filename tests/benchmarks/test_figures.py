"""Figures of README and the docs are those that the commands wrote as JSON.

test_paper.py compares whole pages with docs/results.json, and test_readme_commands.py the table of
the quick start with what the command prints.
"""

import json
import re

import pytest

from benchmarks import ROOT, evaluation
from benchmarks.glue import value_cells
from tests.fake_model import FakeModel

RECORD = json.loads((ROOT / "docs/results.json").read_text(encoding="utf-8"))
EVALUATION = json.loads((ROOT / "docs/evaluation.json").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMPARISON = (ROOT / "docs/comparison.md").read_text(encoding="utf-8")
GLUE = json.loads((ROOT / "benchmarks/nar/glue.json").read_text(encoding="utf-8"))


def rows(page, heading):
    """The cells of the rows of the table whose first line has `heading`."""
    lines = page.partition(heading)[2].splitlines()[2:]
    table = lines[: lines.index("")]
    return [[cell.strip(" *") for cell in line[1:-1].split("|")] for line in table]


def test_the_evaluation_measures_every_row_on_the_test_file(monkeypatch, tmp_path):
    wrong, right = "the kat sat on", "the cat sat on"
    for part, reference in (("dev", right), ("test", "the cat sat")):
        one = {"input": [wrong, right], "output": reference}
        (tmp_path / f"{part}.json").write_text(json.dumps([one] * 60))
    monkeypatch.setattr("tta.load", FakeModel)
    monkeypatch.setattr("benchmarks.evaluation_data.FOLDER", tmp_path)
    measured = evaluation.measure(("{}.json", None), "test", "dev", {})
    rates = {name: round(value, 2) for name, (value, *_) in measured["rows"].items()}
    expected = {"first pass": 66.67, "no model": 66.67, "LM alone": 33.33}
    assert rates == expected | {"reranked": 33.33, "oracle": 33.33}
    assert measured["rows"]["first pass"][2] is None
    assert measured["rows"]["reranked"][1:] == [50.0, [50.0, 50.0]]
    assert "fake|version:0" in measured["signatures"][2]
    assert set(EVALUATION) == set(evaluation.SETS)


def test_similarities_of_readme():
    best = RECORD["table3"]["rows"]["T-TA, contrast, joint"]
    shown = re.search(r"Pearson x 100 of ([\d.]+) on STS-B dev and ([\d.]+) on", README).groups()
    assert shown == (f"{best['dev']:.2f}", f"{best['test']:.2f}")


def test_similarities_of_the_table_of_models():
    (cell,) = [row[2] for row in rows(COMPARISON, "| for | take |") if row[0] == "similarity"]
    names = ("T-TA, contrast", "T-TA", "cloze base")
    kinds = ("context",) * 3 + ("joint",) * 3
    measured = RECORD["table3"]["rows"]
    expected = [
        measured[f"{name}, {kind}"]["dev"] for name, kind in zip(names * 2, kinds, strict=True)
    ]
    assert re.findall(r"\d+\.\d\d", cell) == [f"{value:.2f}" for value in expected]


# Rows of README's table, by number. benchmarks.adaptation prints the figures of the other one.
LISTS = {0: "Arctic clean", 1: "Arctic 5 dB", 2: "ATIS", 4: "IWSLT'14"}


@pytest.mark.parametrize("number", LISTS)
def test_lists_of_readme(number):
    measured = EVALUATION[LISTS[number]]["rows"]
    names = ("first pass", "no model", "reranked", "oracle")
    _, gain, (low, high) = measured["reranked"]
    _, _, *shown, interval = rows(README, "| list | metric |")[number]
    assert shown == [f"{measured[name][0]:.2f}" for name in names]
    assert interval == f"{gain:.1f} % [{low:.1f}, {high:.1f}]"


def test_readme_has_the_figures_of_the_results_page():
    """Both tables show the same runs: README some columns of some rows."""
    all_rows = rows(COMPARISON, "| list | metric |")
    for _, metric, first, no_model, reranked, oracle, gain in rows(README, "| list | metric |"):
        assert any(
            [metric, first, no_model, reranked, oracle, gain] == row[1:] for row in all_rows
        ), gain


def test_the_glue_table_has_the_seeds_of_its_file():
    pages = [ROOT / "docs/classification.md", ROOT / "docs/experiments/classification.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages if page.exists())
    head = re.search(r"^\| \| (WNLI .*?) \|$", text, re.MULTILINE)[1].split(" | ")
    tasks = [re.sub(r" \(F1\)|-|, .*", "", name).lower() for name in head[:-1]]
    assert set(tasks) == {name.replace("-", "") for name in GLUE}
    shown = value_cells(GLUE)
    for model, *cells in rows(text, "| | WNLI "):
        if model.startswith(("`random", "`small", "`base", "`encoder", "`decoder")):
            for task, cell in zip(tasks, cells, strict=False):
                assert cell.replace("*", "") == shown[task, model.strip("`")], (model, task)


def test_the_engines_are_compared_by_the_figures_of_the_light_benchmark():
    measured = json.loads((ROOT / "docs/light.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/scoring.md").read_text(encoding="utf-8")
    table = {name: cells for name, *cells in rows(page, "| | tensorflow | onnxruntime |")}
    exact = "1,000 sentences of 20 words, exact scores, ms; in bfloat16 or int8"
    keys = {
        "installed with its packages, MB": ["install_mb_{}"],
        "start to the first score, s": ["first_score_s_{}"],
        "resident memory after it, MB": ["rss_mb_{}"],
        exact: ["list_ms_{}_float32_exact_1000", "list_ms_{}_{}_exact_1000"],
    }
    for name, found in keys.items():
        for engine, fast, cell in zip(
            ("tensorflow", "light"), ("bfloat16", "int8"), table[name], strict=True
        ):
            values = [measured[key.format(engine, fast)] for key in found]
            shown = "{:.1f}" if "first" in found[0] else "{:,.0f}"
            assert cell == "; ".join(map(shown.format, values)), name
