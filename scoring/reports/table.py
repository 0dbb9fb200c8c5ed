"""What reranking did, as a table: first pass, language models alone, reranked, oracle."""

import itertools
from dataclasses import dataclass, field

import numpy as np

from tta.scoring.combining.mixture import MixtureWeights
from tta.scoring.combining.scored_lists import FIRST_PASS, mix, oracle, select
from tta.scoring.metrics.significance import LEVEL, paired_bootstrap, relative_gain


@dataclass(frozen=True)
class Row:
    """One way of picking a hypothesis from every list, and how good its picks are.

    Attributes:
        name: `first pass`, `oracle`, or what the weights are called.
        value: the metric over all picks, in its own unit (percent).
        details: what the metric prints beside it: {heading: number}.
        gain: relative to the first pass, in percent, positive is better; NaN where that is 0.
        interval: (low, high), the gain's confidence interval; NaN where there is none.
        weights: `MixtureWeights` that the picks were made with; None for first pass and oracle.
        picked: [L, S] int64, the metric's statistics of the picks, list by list: rows of the same
            lists can be compared with each other, see `significance.paired_bootstrap`.
    """

    name: str
    value: float
    details: dict
    gain: float
    interval: tuple = (np.nan, np.nan)
    weights: MixtureWeights | None = None
    picked: np.ndarray | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Difference:
    """The metric of one row minus that of another, in the metric's unit.

    Attributes:
        first, second: the rows' names.
        value: first minus second.
        interval: (low, high), its confidence interval; NaN where there is none.
    """

    first: str
    second: str
    value: float
    interval: tuple


@dataclass(frozen=True)
class Evaluation:
    """What was measured on one file of lists: rows, and differences between some of them."""

    rows: list
    differences: list


@dataclass(frozen=True)
class PartReport:
    """One file of lists, dev or test.

    Attributes:
        path: the file, as messages name it.
        num_lists, num_hypotheses, num_distinct: how many lists, texts in them, different texts.
        evaluation: an `Evaluation`; None where the lists have no references or nothing is measured.
    """

    path: str
    num_lists: int
    num_hypotheses: int
    num_distinct: int
    evaluation: Evaluation | None

    def row(self, name):
        """The `Row` of that name."""
        return next(row for row in self.evaluation.rows if row.name == name)


@dataclass(frozen=True)
class Report:
    """What reranking did; as `str`, what run_rerank.py prints.

    Attributes:
        test: `PartReport` of the lists that were reranked.
        dev: `PartReport` of those that the weights were tuned on, or None.
        names: what the models are called in rows, no two alike.
        metric: `WordErrorRate` or `Bleu`, or None where nothing is measured.
        notes: what a reader of the numbers has to know, lines of text.
        signatures: what the numbers depend on, lines of text.
    """

    test: PartReport
    dev: PartReport | None
    names: list
    metric: object
    notes: list
    signatures: list

    def __str__(self):
        lines = []
        for part in filter(None, (self.dev, self.test)):
            lines.append(
                f"{part.path}: {part.num_lists:,} lists, {part.num_hypotheses:,} hypotheses, "
                f"{part.num_distinct:,} distinct"
            )
            if part.evaluation is not None:
                lines.append(format_table(part.evaluation.rows, self.metric))
                lines += [format_difference(d, self.metric) for d in part.evaluation.differences]
                lines.append("")
        lines += [f"note: {note}" for note in self.notes]
        return "\n".join([*lines, *self.signatures])


def evaluate(models, statistics, metric, systems, compared=()):
    """Measures ways of picking a hypothesis, and how sure their gains are.

    Args:
        models: K `ScoredLists` of the same lists.
        statistics: [L, N, S] int64, see `reranking.count_statistics`.
        metric: `WordErrorRate` or `Bleu`.
        systems: {name: `MixtureWeights`}.
        compared: names of systems; every two of them are compared with each other.

    Returns:
        An `Evaluation`. Its rows: first pass (without scores: the lists' own order), the systems,
        oracle.
    """
    picks = {"first pass": select(models[0], FIRST_PASS)}
    for name, one in systems.items():
        picks[name] = select(mix(models, one.shares), one.weights)
    picks["oracle"] = oracle(models[0], statistics, metric)
    picked = {name: statistics[np.arange(len(one)), one] for name, one in picks.items()}
    totals = {name: one.sum(axis=0) for name, one in picked.items()}
    values = {name: float(metric.corpus(one)) for name, one in totals.items()}

    pairs = list(itertools.combinations(compared, 2))
    gains, differences = _intervals(metric, picked, systems, pairs)
    rows = [
        Row(
            name,
            values[name],
            metric.details(totals[name]),
            float(relative_gain(values[name], values["first pass"], metric)),
            gains.get(name, Row.interval),
            systems.get(name),
            picked[name],
        )
        for name in picks
    ]
    return Evaluation(
        rows, [Difference(a, b, values[a] - values[b], differences[a, b]) for a, b in pairs]
    )


def _intervals(metric, picked, systems, pairs):
    """Intervals of the systems' gains and of the pairs' differences: two dicts of (low, high)."""
    number = {name: i for i, name in enumerate(picked)}

    def quantities(values):
        gains = [relative_gain(values[number[name]], values[0], metric) for name in systems]
        return np.stack(gains + [values[number[a]] - values[number[b]] for a, b in pairs])

    bounds = paired_bootstrap(np.stack(list(picked.values())), metric, quantities).tolist()
    bounds = [(low, high) for low, high in bounds]
    return (
        dict(zip(systems, bounds[: len(systems)], strict=True)),
        dict(zip(pairs, bounds[len(systems) :], strict=True)),
    )


def compare_rows(first, second, metric):
    """How one row differs from another of the same lists, be they of two reports.

    Args:
        first, second: `Row`s.
        metric: `WordErrorRate` or `Bleu`, the one that both were measured by.

    Returns:
        A `Difference`.
    """
    picked = np.stack([first.picked, second.picked])
    low, high = paired_bootstrap(picked, metric, lambda values: values[:1] - values[1:])[0].tolist()
    return Difference(first.name, second.name, first.value - second.value, (low, high))


def format_table(rows, metric):
    """Lays rows out as text, one line each under a line of headings, aligned."""
    cells = [headings(rows, metric), *(format_row(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for name, *others in cells:
        padded = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *padded]).rstrip())
    return "\n".join(lines)


def headings(rows, metric):
    """The headings over `format_row`'s cells; the first is empty."""
    measured = [metric.name, *rows[0].details, "gain %", f"{LEVEL:.0%} interval"]
    return ["", *measured, "lm_weight", "length_bonus", "reduction"]


def format_row(row):
    """A row's cells, as text: empty where there is nothing to say."""
    numbers = [f"{number:.2f}" for number in (row.value, *row.details.values())]
    gain = "" if row.name == "first pass" or np.isnan(row.gain) else f"{row.gain:+.1f}"
    weights = ["", "", ""] if row.weights is None else format_weights(row.weights)
    return [row.name, *numbers, gain, format_interval(row.interval, ".1f"), *weights]


def format_interval(interval, digits):
    """(low, high) as text with signs, or nothing where there is no interval."""
    low, high = interval
    return "" if np.isnan(low) else f"[{low:+{digits}}, {high:+{digits}}]"


def format_difference(difference, metric):
    """A `Difference` as text: `a - b: -0.31 WER [-0.60, -0.02]`."""
    interval = format_interval(difference.interval, ".2f")
    return (
        f"{difference.first} - {difference.second}: {difference.value:+.2f} {metric.name} "
        f"{interval}".rstrip()
    )


def format_weights(mixture):
    """The weights as text, with as many digits as it takes to use them again as flags."""
    lm_weights = ",".join(f"{weight:.6g}" for weight in mixture.lm_weights)
    return [lm_weights, f"{mixture.weights.length_bonus:.6g}", mixture.weights.reduction]


def signatures(models, mixture):
    """What a combined score is made of: one line a model, from the models' own signatures."""
    _, length_bonus, reduction = format_weights(mixture)
    return [
        f"{model}|reduction:{reduction}|lm_weight:{weight:.6g}|length_bonus:{length_bonus}"
        for model, weight in zip(models, mixture.lm_weights, strict=True)
    ]
