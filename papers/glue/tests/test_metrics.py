"""GLUE's measures: values by hand, and constant predictions, which give 0 and no warning."""

import math

import numpy as np
import pytest

from tta.papers.glue.classify_config import TASKS
from tta.papers.glue.report import METRICS, on_resamples
from tta.scoring.metrics.significance import interval

GOLD = np.array([1, 1, 1, 0, 0, 0, 0, 1])
FOUND = np.array([1, 1, 0, 0, 0, 1, 0, 0])  # 2 true and 1 false positives, 2 misses, 3 rejections


def value(name, gold=GOLD, found=FOUND):
    return METRICS[name].value(np.asarray(gold), np.asarray(found))


def test_values_by_hand():
    assert value("accuracy") == pytest.approx(100 * 5 / 8)
    assert value("f1") == pytest.approx(100 * 2 * 2 / (2 * 2 + 1 + 2))
    assert value("macro_f1") == pytest.approx(100 * (4 / 7 + 6 / 9) / 2)
    assert value("mcc") == pytest.approx(100 * (2 * 3 - 1 * 2) / math.sqrt(3 * 4 * 4 * 5))
    x, y = [1.0, 2.0, 4.0], [2.0, 1.0, 9.0]
    assert value("spearman", x, y) == pytest.approx(50.0)
    assert value("pearson", x, y) == pytest.approx(100 * np.corrcoef(x, y)[0, 1])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("constant", [0, 1])
def test_no_constant_gives_nan(name, constant):
    for gold in (GOLD, np.full(8, constant), np.full(8, 1 - constant)):
        assert math.isfinite(value(name, gold, np.full(8, constant)))


def test_every_task_has_known_measures():
    assert {name for task in TASKS.values() for name in task.metrics} <= set(METRICS)


def test_the_interval_is_that_of_the_mean_over_predictions():
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2, 400)
    found = [np.where(rng.random(400) < 0.8, gold, 1 - gold) for _ in range(3)]
    low, high = interval(on_resamples(METRICS["accuracy"], gold, found))
    mean = np.mean([METRICS["accuracy"].value(gold, one) for one in found])
    right = np.mean([one == gold for one in found], axis=0)  # [400]
    error = 100 * right.std() / math.sqrt(400)
    assert low == pytest.approx(mean - 1.96 * error, abs=0.3)
    assert high == pytest.approx(mean + 1.96 * error, abs=0.3)
    assert interval(on_resamples(METRICS["mcc"], gold, [np.zeros(400)])) == (0.0, 0.0)
