"""benchmarks/glue.py: means over seeds, differences with paired errors, means over tasks."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import glue


def row(values, resampled):
    return SimpleNamespace(values={"mcc": values}, resampled=np.array(resampled, float))


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
    assert glue.values(results) == {
        ("cola", "a"): "10.0",
        ("cola", "b"): "20.0 ± 1.4",
        ("rte", "a"): "50.0",
        ("rte", "b"): "52.0",
    }
    assert glue.differences(results, "a") == {
        ("cola", "b"): "+10.0 ± 3.0",
        ("rte", "b"): "+2.0 ± 4.0",
        (glue.MEAN, "b"): "+6.0 ± 2.5",  # sqrt(3^2 + 4^2) / 2
    }


def test_no_mean_and_no_difference_of_what_was_not_measured_together():
    results = {
        "cola": {"a": one([10.0], b=3.0), "b": one([20.0], a=3.0), "c": one([30.0], b=1.0)},
        "rte": {"a": one([50.0], c=4.0), "c": one([52.0], a=4.0)},
    }
    assert glue.differences(results, "a") == {
        ("cola", "b"): "+10.0 ± 3.0",
        ("rte", "c"): "+2.0 ± 4.0",
    }
    lines = glue.markdown(glue.values(results)).splitlines()
    assert lines[0] == "| | cola (MCC) | rte (accuracy) |"
    assert lines[3] == "| b | 20.0 | - |"


def test_results_of_earlier_commands_are_read(tmp_path):
    path = tmp_path / "glue.json"
    assert glue.read_results(None) == glue.read_results(str(path)) == {}
    path.write_text(json.dumps({"rte": {"a": one([50.0])}}))
    assert glue.read_results(str(path))["rte"]["a"]["values"] == [50.0]
