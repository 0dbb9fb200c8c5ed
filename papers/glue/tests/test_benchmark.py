"""benchmarks/glue.py: means over seeds, differences with paired errors, means over tasks."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import glue
from tta.papers.glue.report import RateRow


def row(values, resampled):
    return RateRow("rate", {"mcc": values}, np.array(resampled, float))


def one(values, **errors):
    return {"values": values, "errors": errors}


def test_the_error_of_a_difference_is_paired():
    """The resamples of both rise and fall together, so their difference hardly varies."""
    rows = {"a": row([40.0], [10, 30, 50, 70]), "b": row([45.0, 46.0], [15, 37, 55, 77])}
    found = glue.result("b", rows, "mcc")
    assert found["values"] == [45.0, 46.0]
    assert found["errors"] == {"a": pytest.approx(1.0), "b": 0.0}


def test_means_over_seeds_and_over_tasks():
    results = {
        "cola": {"a": one([10.0], a=0.0, b=3.0), "b": one([19.0, 21.0], a=3.0, b=0.0)},
        "rte": {"a": one([50.0], a=0.0, b=4.0), "b": one([52.0], a=4.0, b=0.0)},
    }
    assert glue.value_cells(results) == {
        ("cola", "a"): "10.0",
        ("cola", "b"): "20.0 ± 1.4",
        ("rte", "a"): "50.0",
        ("rte", "b"): "52.0",
    }
    assert glue.difference_cells(results, "a") == {
        ("cola", "b"): "+10.0 ± 3.0",
        ("rte", "b"): "+2.0 ± 4.0",
        (glue.MEAN, "b"): "+6.0 ± 2.5",  # sqrt(3^2 + 4^2) / 2
    }


@pytest.mark.parametrize(
    ("task", "control", "values", "mark"),
    [
        ("mrpc", 81.2, [81.2, 81.2], glue.ALL_CONSTANT),
        ("mrpc", 81.2, [0.0], glue.ALL_CONSTANT),
        ("mrpc", 81.2, [18.8], ""),
        ("rte", 52.7, [47.3, 52.7], glue.ALL_CONSTANT),
        ("rte", 52.7, [50.0, 50.0], ""),
        ("cola", 0.0, [0.0, 7.6], glue.SOME_CONSTANT),
        ("cola", 0.0, [100.0], ""),
        ("stsb", 0.0, [0.0], glue.ALL_CONSTANT),
        ("mnli", 35.4, [35.4], glue.ALL_CONSTANT),
        ("mnli", 35.4, [64.6], ""),
    ],
)
def test_values_of_constant_predictions_are_marked(task, control, values, mark):
    results = {task: {glue.CONTROL: one([control]), "a": one(values)}}
    cells = glue.value_cells(results)
    assert cells[task, "a"].strip("0123456789.± ") == mark
    assert cells[task, glue.CONTROL] == f"{control:.1f}"


def test_no_mean_and_no_difference_of_what_was_not_measured():
    results = {
        "cola": {"a": one([10.0], b=3.0), "b": one([20.0], a=3.0)},
        "rte": {"a": one([50.0], c=4.0), "c": one([52.0], a=4.0)},
        "wnli": {"b": one([50.0])},
    }
    assert glue.difference_cells(results, "a") == {
        ("cola", "b"): "+10.0 ± 3.0",
        ("rte", "c"): "+2.0 ± 4.0",
    }
    lines = glue.markdown(glue.value_cells(results)).splitlines()
    assert lines[0] == "| | cola (MCC) | rte (accuracy) | wnli (accuracy) |"
    assert lines[3] == "| b | 20.0 | - | 50.0 |"


@pytest.mark.tensorflow
def test_a_command_keeps_the_tasks_and_models_of_earlier_ones(tmp_path, monkeypatch, capsys):
    path = tmp_path / "glue.json"
    earlier = {"rte": {"a": one([50.0], b=1.0), "b": one([60.0], a=1.0)}, "cola": {"c": one([9.0])}}
    path.write_text(json.dumps(earlier))
    found = {"a": [10.0], "b": [14.0, 16.0]}
    flags = {"json": str(path), "tasks": ["cola"], "models": ["a", "b"], "first_models": ["b"]}
    monkeypatch.setattr(glue, "FLAGS", SimpleNamespace(**flags, quick=False))
    monkeypatch.setattr(glue, "config_of", lambda *cell: cell)

    def classify(config, model):
        task, name, pooling = config
        assert (task, pooling) == ("cola", "first" if name.endswith(glue.FIRST) else None)
        rows = [row([0.0], [0, 0]), row([30.0] if pooling else found[model], [1, 2])]
        return SimpleNamespace(rows=rows, signatures=[f"model:{model}"])

    monkeypatch.setattr("tta.papers.glue.classify.classify", classify)
    glue.main()
    kept = json.loads(path.read_text())
    assert kept["rte"] == earlier["rte"]
    assert kept["cola"]["c"] == earlier["cola"]["c"]
    assert {name: kept["cola"][name]["values"] for name in found} == found
    first = kept["cola"]["b, first token"]
    assert first["values"] == [30.0]
    assert first["recipe"] == {"row": "rate", "signatures": ["model:b"]}
    shown = capsys.readouterr().out
    assert "| b | 60.0 | 15.0 ± 1.4 |" in shown
    assert "Minus a:" in shown
