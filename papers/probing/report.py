"""The report of a probe as text: a row per model and kind of vectors, differences, signatures."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import sklearn

import tta
from tta.papers.probing.classifier import SIGNATURE
from tta.papers.probing.config import MIX, ProbeConfig
from tta.scoring.metrics.significance import LEVEL, RESAMPLES
from tta.scoring.metrics.significance import SEED as BOOTSTRAP_SEED
from tta.scoring.reports.evaluation import Difference, Interval
from tta.scoring.reports.table import (
    NotedReport,
    align,
    format_count,
    format_interval,
    format_number,
    format_seeds,
)


@dataclass(frozen=True)
class ProbeRow:
    """What a classifier reads off one kind of vectors.

    Attributes:
        name: the model and the vectors.
        size: numbers in the features of a row; 0 for the control without features.
        values: of the measure, in percent, one per seed.
        interval: of their mean, from a bootstrap over the test examples.
        cs: the chosen C of every split of every seed; NaN without a choice.
        not_converged: number of splits in which the optimizer did not converge in every fit.
    """

    name: str
    size: int
    values: list[float]
    interval: Interval
    cs: list[float]
    not_converged: int

    @property
    def mean(self) -> float:
        """The mean over the seeds."""
        return float(np.mean(self.values))

    def cells(self) -> list[str]:
        """The cells of the table."""
        interval = format_interval(self.interval, ".2f", sign="")
        c = "" if np.isnan(self.cs[0]) else f"{np.median(self.cs):g}"
        size = f"{self.size:,}" if self.size else ""
        return [self.name, size, *format_seeds(self.values), interval, c]


@dataclass(frozen=True)
class ProbeReport(NotedReport):
    """Rows, the control first.

    Attributes:
        measure: what is measured, in percent.
        sizes: numbers of training, dev and test examples; 0 test examples: cross-validation.
        rows: the control, then one per model and kind of vectors.
        differences: of the other rows and the first model's first row, paired by test example.
    """

    measure: str
    sizes: tuple[int, int, int]
    rows: list[ProbeRow]
    differences: list[Difference]

    def lines(self):
        names = ("train", "dev", "test") if self.sizes[2] else ("cross-validated", "", "")
        parts = [f"{n:,} {name}" for n, name in zip(self.sizes, names, strict=True) if n]
        heads = ["", "features", f"{self.measure} %", "sd", f"{LEVEL:.0%} interval", "median C"]
        cells = [heads, *(row.cells() for row in self.rows)]
        lines = [f"examples: {', '.join(parts)}", align(cells)]
        for difference in self.differences:
            value, interval = (
                format_number(difference.value, "+.2f"),
                format_interval(difference.interval, ".2f"),
            )
            lines.append(f"{difference.first} - {difference.second}: {value} {interval}".rstrip())
        for row in self.rows:
            if row.not_converged:
                splits = format_count(row.not_converged, "split", "splits")
                lines.append(f"note: {row.name}: the optimizer did not converge in {splits}")
        return lines


def signature(config: ProbeConfig, seeds: Sequence[int]) -> str:
    """What the numbers depend on besides the models, in one line."""
    folds = f"{config.num_folds}-fold"
    protocol = f"{folds} cross-validation" if config.test_file is None else "given split"
    if config.features == MIX:
        classifier = (
            f"biLSTM of {config.lstm_size} over a mix of layers|adam:{config.learning_rate:g}"
            f"|batch:{config.train_batch_size}|epochs:at most {config.num_train_epochs}"
        )
        choice = f"epoch:{'dev file' if config.dev_file else f'one of {folds} folds in training'}"
    else:
        classifier = SIGNATURE
        folds = f"{folds} cross-validation in training"
        choice = f"C:{'dev file' if config.dev_file else folds}"
    return (
        f"probe|classifier:{classifier}|protocol:{protocol}|choice of {choice}"
        f"|seeds:{','.join(map(str, seeds))}"
        f"|interval:{LEVEL:.0%} bootstrap over test examples, resamples:{RESAMPLES},"
        f" seed:{BOOTSTRAP_SEED}|scikit-learn:{sklearn.__version__}|version:{tta.__version__}"
    )
