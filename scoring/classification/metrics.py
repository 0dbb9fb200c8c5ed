"""GLUE's measures, by scikit-learn and SciPy, in percent. N examples.

A prediction that is the same for all examples has a Matthews and any other correlation of 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from tta.errors import InputError
from tta.scoring.metrics.correlation import correlate
from tta.scoring.metrics.significance import LEVEL

RESAMPLES = 1000
SEED = 0


@dataclass(frozen=True)
class Measure:
    """How good predictions are: (gold [N], predicted [N]) -> percent, higher is better.

    Gold and predicted are the numbers of labels, or numbers to predict.
    """

    name: str
    value: Callable[[np.ndarray, np.ndarray], float]


def _correlation(name):
    def value(gold, predicted):
        try:
            return getattr(correlate(predicted, gold), name)
        except InputError:  # not defined: all values are equal
            return 0.0

    return value


def _mcc(gold, found):
    if np.ptp(gold) == 0 or np.ptp(found) == 0:  # scikit-learn warns if only one label occurs
        return 0.0
    return 100 * float(matthews_corrcoef(gold, found))


def _f1(**options: Any):
    options["zero_division"] = 0.0  # without a positive prediction
    return lambda gold, found: 100 * float(f1_score(gold, found, **options))


METRICS = {
    "accuracy": Measure("accuracy", lambda gold, found: 100 * float(accuracy_score(gold, found))),
    "mcc": Measure("MCC", _mcc),
    "f1": Measure("F1", _f1()),
    "macro_f1": Measure("macro F1", _f1(average="macro")),
    "pearson": Measure("Pearson", _correlation("pearson")),
    "spearman": Measure("Spearman", _correlation("spearman")),
}


def on_resamples(measure: Measure, gold: np.ndarray, predicted: Sequence[np.ndarray]) -> np.ndarray:
    """A measure's mean over several predictions, on resamples of the examples: [R] percent.

    The examples are drawn with replacement, the same for all predictions of N examples, in this
    call and in others. So values of two models can be subtracted (a paired bootstrap).
    """
    draws = np.random.default_rng(SEED).integers(0, len(gold), (RESAMPLES, len(gold)))
    return np.array([np.mean([measure.value(gold[i], one[i]) for one in predicted]) for i in draws])


def interval(values: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of values on resamples [R]."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
