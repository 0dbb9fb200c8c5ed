"""The report of tta classify as text: a row per learning rate, and the best run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import tta
from tta.errors import InputError, install
from tta.papers.glue.classify_config import ClassifyConfig
from tta.papers.glue.examples import Examples
from tta.scoring.metrics.correlation import correlate
from tta.scoring.metrics.significance import LEVEL, SEED, bootstrap, interval
from tta.scoring.reports.table import (
    NotedReport,
    align,
    format_count,
    format_interval,
    format_number,
    format_seeds,
)

try:
    import sklearn
    from sklearn.metrics import f1_score, matthews_corrcoef
except ModuleNotFoundError:
    raise InputError(f"scikit-learn is missing: {install('classify')}") from None

RESAMPLES = 1000


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
    # scikit-learn's takes a millisecond a resample.
    "accuracy": Measure("accuracy", lambda gold, found: 100 * float(np.mean(gold == found))),
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

    def on_draws(draws):
        means = (
            np.mean([measure.value(gold[i], values[i]) for values in predicted]) for i in draws
        )
        return np.fromiter(means, np.float64)

    return bootstrap(len(gold), on_draws, RESAMPLES)


MAJORITY = "majority class"
MEAN = "training mean"

Run = tuple[float, int]  # learning rate and seed


@dataclass(frozen=True)
class RateRow:
    """The runs with one learning rate, or the control; all values are in percent.

    Attributes:
        name: of the row.
        values: {key of `METRICS`: one value per seed}; the first measure chooses.
        resampled: [R], the mean of the first measure on resamples of the dev examples, which are
            the same for all models (`on_resamples`).
    """

    name: str
    values: dict[str, list[float]]
    resampled: np.ndarray

    def mean(self, metric: str) -> float:
        """The mean over the seeds."""
        return float(np.mean(self.values[metric]))

    def cells(self) -> list[str]:
        """The cells of the table."""
        cells = [self.name]
        for position, values in enumerate(self.values.values()):
            cells += format_seeds(values)
            if position == 0:
                cells.append(format_interval(interval(self.resampled), ".2f", sign=""))
        return cells


@dataclass(frozen=True)
class ClassifyReport(NotedReport):
    """How a model was fine-tuned.

    Attributes:
        name: of the task or the training file.
        counts: {part: number of its examples}.
        metrics: keys of `METRICS`; the first one chose.
        rows: the control, then one per learning rate.
        best: the run whose model was kept.
        best_values: of that run, on the dev part, {metric: percent}.
        test_values: of that run, on the test part; None without labelled test examples.
        directory: of the model.
    """

    name: str
    counts: dict[str, int]
    metrics: tuple[str, ...]
    rows: list[RateRow]
    best: Run
    best_values: dict[str, float]
    test_values: dict[str, float] | None
    directory: Path

    def lines(self):
        sizes = ", ".join(f"{count:,} {part}" for part, count in self.counts.items())
        heads = [""]
        for position, metric in enumerate(self.metrics):
            heads += [METRICS[metric].name, "sd", *[f"{LEVEL:.0%} interval"] * (position == 0)]
        cells = [heads, *(row.cells() for row in self.rows)]
        lines = [f"{self.name}: {sizes} examples", "on dev, in %, over seeds:"]
        lines.append(align(cells))
        num_runs = sum(len(row.values[self.metrics[0]]) for row in self.rows[1:])
        best = f"rate {self.best[0]:g}, seed {self.best[1]}"
        if num_runs > 1:
            lines.append(
                f"best of {num_runs} runs on dev: {best}: {shown(self.best_values)}. The same "
                "examples chose it, so this is too high; compare models by mean and sd"
            )
        if self.test_values is not None:
            lines.append(f"{best} on test: {shown(self.test_values)}")
        lines.append(f"{self.directory}: the model of {best}")
        return lines


def shown(values: Mapping[str, float]) -> str:
    """Values of metrics, as `F1 81.22, accuracy 68.38`."""
    return ", ".join(
        f"{METRICS[name].name} {format_number(value, '.2f')}" for name, value in values.items()
    )


def predicted_targets(logits: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """The predictions that are measured: [N] numbers of labels, or the predicted numbers."""
    return logits.argmax(axis=1) if labels else logits[:, 0]


def measure(examples: Examples, gold: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """{metric: percent} of predictions [N]."""
    gold = gold.astype(int) if examples.labels else gold
    return {name: METRICS[name].value(gold, predicted) for name in examples.metrics}


def rate_rows(examples: Examples, dev: Mapping[Run, np.ndarray]) -> list[RateRow]:
    """The control, and a row per learning rate, from the logits of each run on the dev part."""
    train = examples.train.gold
    numbers, counts = np.unique(train, return_counts=True)
    constant = numbers[np.argmax(counts)] if examples.labels else train.mean()
    named = {MAJORITY if examples.labels else MEAN: [np.full(len(examples.dev.gold), constant)]}
    for rate in dict.fromkeys(rate for rate, _ in dev):
        targets = [predicted_targets(x, examples.labels) for (r, _), x in dev.items() if r == rate]
        named[f"rate {rate:g}, {format_count(len(targets), 'seed', 'seeds')}"] = targets
    return [_row(examples, name, predictions) for name, predictions in named.items()]


def _row(examples, name, predictions):
    gold = examples.dev.gold.astype(int) if examples.labels else examples.dev.gold
    measured = [measure(examples, gold, prediction) for prediction in predictions]
    values = {metric: [row[metric] for row in measured] for metric in examples.metrics}
    return RateRow(name, values, on_resamples(METRICS[examples.metrics[0]], gold, predictions))


def signature(config: ClassifyConfig, max_length: int, seeds: Sequence[int]) -> str:
    """What the numbers depend on besides the model, in one line."""
    return (
        f"classify|task:{config.task or 'own'}|epochs:{config.num_train_epochs}"
        f"|batch:{config.train_batch_size}|max_seq_length:{max_length}"
        f"|warmup:{config.warmup_proportion:g}|products:{config.mixed_precision}"
        f"|seeds:{','.join(map(str, seeds))}"
        f"|interval:{LEVEL:.0%} bootstrap over dev examples, resamples:{RESAMPLES}, seed:{SEED}"
        f"|scikit-learn:{sklearn.__version__}|scipy:{scipy.__version__}|version:{tta.__version__}"
    )
