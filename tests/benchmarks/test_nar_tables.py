"""benchmarks/nar/tables.py: the paper's numbers and the measured ones, each in its place."""

import json

import pytest

from benchmarks.nar import tables
from tests.benchmarks.markdown import cells


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
    lines = tables.task_table(tables.TABLE_1, tables.TASKS, tables.HEADS, results)
    assert lines[0].count("|") == lines[1].count("|") == len(tables.HEADS) + 3
    expected = [*(f"{10.0 * n:.1f}" for n in range(8)), "35.0"]
    assert cells(lines, "random weights", "ours") == expected
    assert cells(lines, "AE, PAD, decoder", "paper")[-2:] == ["69.0", "83.0"]
    assert cells(lines, "Optimus (VAE)", "ours") == ["-"] * 7 + ["55.0", "-"]
    assert cells(lines, "AE, GTW, decoder", "ours") == ["-"] * 4 + ["7.0"] + ["-"] * 4


@pytest.mark.parametrize("table", [tables.TABLE_1, tables.TABLE_2])
def test_the_papers_means_are_those_of_its_numbers(table):
    """Each row was typed in; the paper's own mean finds a number that is wrong by a point."""
    for paper, _ in table.values():
        if paper is not None:
            *values, mean = map(float, paper.split())
            assert len(values) == len(tables.TASKS)
            assert sum(values) / len(values) == pytest.approx(mean, abs=0.09)


def test_a_training_has_its_hours_only_if_it_ran_in_one_piece(tmp_path, monkeypatch):
    run = {"num_train_steps": 4500, "train_batch_tokens": 4096, "input_dir": "data"}
    trainings = {tables.AE_PAD: True, tables.VAE_PAD: True, tables.OPTIMUS: False}
    for name, is_finished in trainings.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "run.json").write_text(json.dumps(run))
        if is_finished:
            (tmp_path / name / "model.weights.h5").touch()
    time = json.dumps({"seconds": 1800.0, "cores": 2})
    (tmp_path / f"{tables.AE_PAD}.time.json").write_text(time)
    info = {"data": {"splits": {"train": {"sentences": 1_310_577}}}}
    monkeypatch.setattr(tables, "load_dataset_info", info.__getitem__)
    lines = tables.table_4(tmp_path)
    assert cells(lines, "AE", "ours") == ["1.3", "4.5", "4,096 tokens", "2 CPU cores", "0.500"]
    assert cells(lines, "VAE", "ours") == ["1.3", "4.5", "4,096 tokens", "-", "-"]
    assert not any(line.startswith("| Optimus | ours") for line in lines)
