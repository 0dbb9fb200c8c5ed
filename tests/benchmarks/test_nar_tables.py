"""benchmarks/nar/tables.py: the paper's numbers and the measured ones, each in its place."""

import json

import numpy as np
import pytest

from benchmarks.glue import ALL_CONSTANT, CONTROL, NOTE, read_results
from benchmarks.nar import tables
from tests.benchmarks.markdown import cells

pytestmark = pytest.mark.tensorflow


def measured(**models):
    return {name: {"values": values, "errors": {}} for name, values in models.items()}


def test_tasks_are_means_over_the_seeds_in_the_papers_columns():
    name = "random:small"
    results = {task: measured(**{name: [10.0 * place]}) for place, task in enumerate(tables.TASKS)}
    results["rte"] = measured(**{name: [69.0, 71.0], f"encoder:{tables.OPTIMUS}": [55.0]})
    gentle = {
        "rte": measured(**{name: [1.0]}),
        "cola": measured(**{f"decoder:{tables.AE_GTW}": [7.0]}),
    }
    results = tables.merged([results, gentle])
    lines = tables.task_table(tables.TABLE_1, tables.TASKS, results)
    assert lines[0].count("|") == lines[1].count("|") == len(tables.TASKS) + 4
    expected = [*(f"{10.0 * n:.1f}" for n in range(8)), "35.0"]
    assert cells(lines, "random weights", "ours") == expected
    assert cells(lines, "AE, PAD, decoder", "paper")[-2:] == ["69.0", "83.0"]
    assert cells(lines, "Optimus (VAE)", "ours") == ["-"] * 7 + ["55.0", "-"]
    assert cells(lines, "AE, GTW, decoder", "ours") == ["-"] * 4 + ["7.0"] + ["-"] * 4
    lines = tables.task_table(tables.TABLE_1, ["cola", "rte"], results)
    assert lines[0] == "| | | CoLA | RTE |"
    assert cells(lines, "AE, PAD, decoder", "paper") == ["59.1", "69.0"]
    assert cells(lines, "random weights", "ours") == ["40.0", "70.0"]
    lines = tables.task_table(tables.TABLE_3, ["wnli"], {})
    assert cells(lines, "AE, GTW", "paper") == ["62.0"]


def test_a_difference_counts_the_examples_and_the_runs(monkeypatch):
    """Of two models with runs 2 apart each, runs differ by sqrt(2); their means by as much, too."""
    rows = {
        "a": ("50.0 " * 4 + "60.0 88.0 80.0 70.0 60.0", "after other steps", "a"),
        "b": (None, None, "b"),
    }
    monkeypatch.setattr(tables, "DIFFERENCES", {"a minus b": ((rows, "a"), (rows, "b"))})
    results = {
        task: {
            "a": {"values": [50.0, 52.0], "errors": {"b": 1.0}},
            "b": {"values": [40.0, 42.0], "errors": {"a": 1.0}},
            "other": {"values": [0.0, 90.0], "errors": {}},
        }
        for task in tables.CLAIMED
    }
    half = 1.96 * (1 + 2) ** 0.5
    expected = ["-", "-", *[f"10.0 ± {half:.1f}"] * 2]
    assert cells(tables.difference_table(results), "a minus b") == expected


def test_runs_that_end_with_constants_widen_their_own_interval_alone(monkeypatch):
    steady, other, failing = [50.0, 52.0], [40.0, 42.0], [0.0, 54.0, 0.0]
    a, *others = [({name: (None, name, None)}, name) for name in "abc"]
    monkeypatch.setattr(tables, "DIFFERENCES", {str(other): (a, other) for other in others})
    models = measured(a=steady, b=other, c=failing) | {CONTROL: {"values": [0.0]}}
    variances = [tables.variance_of_runs("stsb", models, name) for name in "abc"]
    np.testing.assert_allclose(variances, [2 / 2, 2 / 2, np.var(failing, ddof=1) / 3])


def test_the_pages_have_the_tables_of_the_files():
    names = ("long", "gentle", "glue")
    files = [read_results(tables.ROOT / f"benchmarks/nar/{name}.json") for name in names]
    results = tables.merged(files)
    page = (tables.ROOT / "docs/experiments/autoencoder.md").read_text(encoding="utf-8")
    tasks = [task for task in tables.TASKS if task in files[0]]
    for rows, columns in ((tables.TABLE_1, tasks), (tables.TABLE_2, tasks)):
        assert "\n".join(tables.task_table(rows, columns, results)) in page
    assert NOTE in " ".join(page.split())
    claims = (tables.ROOT / "docs/autoencoder.md").read_text(encoding="utf-8")
    assert "\n".join(tables.difference_table(results)) in claims
    words = " ".join(claims.split())
    for table, text, names in (
        (tables.TABLE_1, "(mean of eight tasks {}, {})", ("AE, GTW, decoder", "AE, GTW, encoder")),
        (tables.TABLE_1, "*Both are better than BERT* ({})", ("BERT",)),
        (tables.TABLE_1, "*Better than Optimus* ({})", ("Optimus (VAE)",)),
        (tables.TABLE_1, "PAD for AE* ({}, {})", ("AE, GTW, decoder", "AE, PAD, decoder")),
        (tables.TABLE_1, "better for VAE* ({}, {};", ("VAE, PAD, decoder", "VAE, GTW, decoder")),
        (tables.TABLE_2, "worse than AE* ({}, {})", ("full-VAE, GTW", "AE, GTW")),
    ):
        means = (tables.paper_of(table[name][0])["mean"] for name in names)
        assert text.format(*means) in words
    # Table 3 in a sentence: no row has other values than a constant prediction.
    wnli = tables.task_table(tables.TABLE_3, ("wnli",), results)
    ours = [line for line in wnli[:-1] if "| ours, 500 steps |" in line]
    assert len(ours) > 5
    assert all(ALL_CONSTANT in line for line in ours)


@pytest.mark.parametrize("table", [tables.TABLE_1, tables.TABLE_2])
def test_the_papers_means_are_those_of_its_numbers(table):
    """Each row was typed in; the paper's own mean finds a number that is wrong by a point."""
    for paper, *_ in table.values():
        if paper is not None:
            *values, mean = map(float, paper.split())
            assert len(values) == len(tables.TASKS)
            assert sum(values) / len(values) == pytest.approx(mean, abs=0.09)


def test_a_training_has_its_hours_only_if_it_ran_in_one_piece(tmp_path, monkeypatch):
    run = {"num_train_steps": 4500, "train_batch_tokens": 4096, "input_dir": "data"}
    trainings = {tables.SHORT_AE_PAD: True, tables.VAE_PAD: True, tables.SHORT_OPTIMUS: False}
    for name, is_finished in trainings.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text(json.dumps(run))
        if is_finished:
            (tmp_path / name / "model.weights.h5").touch()
    time = json.dumps({"seconds": 1800.0, "cores": 2})
    (tmp_path / f"{tables.SHORT_AE_PAD}.time.json").write_text(time)
    info = {"data": {"splits": {"train": {"sentences": 1_310_577}}}}
    monkeypatch.setattr(tables, "load_dataset_info", info.__getitem__)
    lines = tables.table_4(tmp_path)
    assert cells(lines, "AE", "ours") == ["1.3", "4.5", "4,096 tokens", "2 CPU cores", "0.500"]
    assert cells(lines, "VAE", "ours") == ["1.3", "4.5", "4,096 tokens", "-", "-"]
    assert not any(line.startswith("| Optimus | ours") for line in lines)
