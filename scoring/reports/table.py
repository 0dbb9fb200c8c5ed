"""The report of reranking as text: one aligned table per file of lists, notes and signatures."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tabulate import tabulate

from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.significance import LEVEL
from tta.scoring.reports.evaluation import Difference, Evaluation, Interval, Row


@dataclass(frozen=True, kw_only=True)
class NotedReport:
    """A report that ends in notes and signatures; `str` gives the text that a command prints.

    Attributes:
        notes: remarks on the numbers, one line each.
        signatures: everything that the numbers depend on, one line each.
    """

    notes: list[str]
    signatures: list[str]

    def lines(self) -> list[str]:
        """The lines before the notes."""
        raise NotImplementedError

    def __str__(self):
        notes = (f"note: {note}" for note in self.notes)
        return "\n".join([*self.lines(), *notes, *self.signatures])


@dataclass(frozen=True)
class PartReport:
    """One file of lists, dev or test; `num_distinct` counts different texts.

    `evaluation` is None if the lists have no references or nothing is measured. `expected` is a
    line on the error rate that the confidences of words lead to expect, or None.
    """

    path: str
    num_lists: int
    num_hypotheses: int
    num_distinct: int
    evaluation: Evaluation | None
    expected: str | None = None

    def row(self, name: str) -> Row:
        """The row with that name."""
        assert self.evaluation is not None
        return next(row for row in self.evaluation.rows if row.name == name)


@dataclass(frozen=True)
class Report(NotedReport):
    """The result of reranking.

    Attributes:
        test: the lists that were reranked.
        dev: the lists that the weights were tuned on, or None.
        names: the names of the models in the rows, all different.
        metric: None if nothing is measured.
        example: lines that show one pick that changed.
    """

    test: PartReport
    dev: PartReport | None
    names: list[str]
    metric: Metric | None
    example: list[str] = field(default_factory=list)

    def lines(self):
        lines = []
        for part in filter(None, (self.dev, self.test)):
            lines.append(
                f"{part.path}: {format_count(part.num_lists, 'list', 'lists')}, "
                f"{format_count(part.num_hypotheses, 'hypothesis', 'hypotheses')}, "
                f"{part.num_distinct:,} distinct"
            )
            if part.evaluation is not None and self.metric is not None:
                lines.append(align(table_cells(part.evaluation.rows, self.metric)))
                lines += [format_difference(d, self.metric) for d in part.evaluation.differences]
                lines += [f"note: {note}" for note in part.evaluation.notes]
                lines.append("")
            if part.expected is not None:
                lines += [part.expected, ""]
        if self.metric is not None:
            lines += [*legend(self.metric), ""]
        if self.example:
            lines += [*self.example, ""]
        return lines


def table_cells(rows: Sequence[Row], metric: Metric) -> list[list[str]]:
    """The headings and the cells of rows."""
    return [headings(rows, metric), *(format_row(row) for row in rows)]


def legend(metric: Metric) -> list[str]:
    """Lines that say what the rows and columns of `table_cells` are."""
    return [
        "first pass: without reranking; oracle: the best pick of each list, the limit of reranking",
        f"gain %: improvement over the first pass, in percent of its {metric.name}",
        "scale: factor on the combined scores before they become probabilities; the pick has the",
        "  lowest expected error (mbr). max: the pick has the highest combined score",
    ]


def align(cells: Sequence[Sequence[str]], alignment: Sequence[str] | None = None) -> str:
    """Formats rows of cells as lines; `alignment` has "left" or "right" for each column.

    Without it, the first column is names, left, and the others are numbers, right.
    """
    alignment = alignment or ["left", *["right"] * (len(cells[0]) - 1)]
    return tabulate(cells, tablefmt="plain", disable_numparse=True, colalign=alignment)


def headings(rows: Sequence[Row], metric: Metric) -> list[str]:
    """The headings of the cells of `format_row`; the first is empty."""
    measured = [metric.name, *rows[0].details, "gain %", f"{LEVEL:.0%} interval"]
    return ["", *measured, "lm_weight", "length_bonus", "reduction", "scale"]


def format_row(row: Row) -> list[str]:
    """The cells of a row as text; those without a value are empty."""
    numbers = [format_number(number, ".2f") for number in (row.value, *row.details.values())]
    has_gain = row.name != "first pass" and not np.isnan(row.gain)
    gain = format_number(row.gain, "+.1f") if has_gain else ""
    weights = [""] * 4 if row.weights is None else format_weights(row.weights)
    return [row.name, *numbers, gain, format_interval(row.interval, ".1f"), *weights]


def format_number(number: float, spec: str) -> str:
    """Formats a number as `format` does; one that is rounded to zero has no minus sign."""
    text = format(number, spec)
    return text if float(text) else format(0.0, spec)


def format_count(count: int, singular: str, plural: str) -> str:
    """Formats a count with its noun, as `1 list` or `1,200 lists`."""
    return f"{count:,} {singular if count == 1 else plural}"


def format_seeds(values: Sequence[float]) -> list[str]:
    """The mean and the standard deviation over seeds; that of a single one is empty."""
    mean, several = format_number(float(np.mean(values)), ".2f"), len(values) > 1
    return [mean, format_number(float(np.std(values, ddof=1)), ".2f") if several else ""]


def format_interval(interval: Interval, digits: str, sign: str = "+") -> str:
    """Formats an interval with signs, as `[-0.60, -0.02]`; "" for NaNs."""
    low, high = (format_number(bound, f"{sign}{digits}") for bound in interval)
    return "" if np.isnan(interval[0]) else f"[{low}, {high}]"


def format_difference(difference: Difference, metric: Metric) -> str:
    """Formats a difference as `a - b: -0.31 WER [-0.60, -0.02]`."""
    value = format_number(difference.value, "+.2f")
    interval = format_interval(difference.interval, ".2f")
    names = f"{difference.first} - {difference.second}"
    return f"{names}: {value} {metric.name} {interval}".rstrip()


def format_weights(weights: RerankWeights) -> list[str]:
    """Formats weights with enough digits to pass them as flags again.

    The scale of the decision `max` is shown as `max`.
    """
    lm_weights = ",".join(f"{weight:.6g}" for weight in weights.lm_weights)
    scale = "max" if weights.decision == "max" else f"{weights.scale:.6g}"
    return [lm_weights, format_number(weights.length_bonus, ".6g"), weights.reduction, scale]


def signatures(models: Sequence[str], weights: RerankWeights, metric: Metric) -> list[str]:
    """The signatures of a decision: one line per model, from the models' signatures, and one more.

    The decision `mbr` minimizes the metric's loss.
    """
    _, length_bonus, reduction, scale = format_weights(weights)
    lines = [
        f"{model}|reduction:{reduction}|lm_weight:{weight:.6g}"
        for model, weight in zip(models, weights.lm_weights, strict=True)
    ]
    decision = f"decision:{weights.decision}|length_bonus:{length_bonus}"
    if weights.decision == "mbr":
        decision += f"|scale:{scale}|loss:{metric.loss_name}"
    if weights.features:
        feature_weights = (f"{name}={weight:.6g}" for name, weight in weights.features.items())
        decision += f"|features:{','.join(feature_weights)}"  # as the flag takes them
    return [*lines, decision]
