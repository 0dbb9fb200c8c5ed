"""benchmarks/glue.py: means over seeds, differences with paired errors, means over tasks."""

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
