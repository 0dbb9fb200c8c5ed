"""What reranking did, as a table: first pass, language model alone, reranked, oracle."""

from dataclasses import dataclass

import numpy as np

from tta.scoring.reranking import FIRST_PASS, RerankWeights, oracle, select, total


@dataclass(frozen=True)
class Row:
    """One way of picking a hypothesis from every list, and how good its picks are.

    Attributes:
        name: `first pass`, `LM alone`, `reranked` or `oracle`.
        value: the metric over all picks, in its own unit (percent).
        details: what the metric prints beside it: {heading: number}.
        gain: relative to the first pass, in percent, positive is better; NaN where that is 0.
        weights: what the picks were made with; None for first pass and oracle.
    """

    name: str
    value: float
    details: dict
    gain: float
    weights: RerankWeights | None = None


def evaluate(lists, statistics, metric, weights, lm_alone):
    """Measures the four ways of picking a hypothesis.

    Args:
        lists: `ScoredLists`.
        statistics: [L, N, K] int64, see `reranking.count_statistics`.
        metric: `WordErrorRate` or `Bleu`.
        weights: `RerankWeights` of the reranked row.
        lm_alone: `RerankWeights` of the language model's row, its lm_weight 1.

    Returns:
        Four `Row`s: first pass (without scores: the lists' own order), LM alone, reranked, oracle.
    """
    used = {"LM alone": lm_alone, "reranked": weights}
    picks = {"first pass": select(lists, FIRST_PASS)}
    picks |= {name: select(lists, one) for name, one in used.items()}
    picks["oracle"] = oracle(lists, statistics, metric)
    totals = {name: total(statistics, selection) for name, selection in picks.items()}
    values = {name: float(metric.corpus(one)) for name, one in totals.items()}

    base = values["first pass"]
    sign = 1 if metric.higher_is_better else -1
    gains = {n: sign * 100 * (v - base) / base if base else np.nan for n, v in values.items()}
    return [
        Row(name, values[name], metric.details(totals[name]), gains[name], used.get(name))
        for name in picks
    ]


def format_table(rows, metric):
    """Lays rows out as text, one line each under a line of headings, aligned."""
    headings = [
        "",
        metric.name,
        *rows[0].details,
        "gain %",
        "lm_weight",
        "length_bonus",
        "reduction",
    ]
    cells = [headings]
    for row in rows:
        gain = "" if row is rows[0] or np.isnan(row.gain) else f"{row.gain:+.1f}"
        weights = ["", "", ""] if row.weights is None else format_weights(row.weights)
        numbers = [f"{number:.2f}" for number in (row.value, *row.details.values())]
        cells.append([row.name, *numbers, gain, *weights])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for name, *others in cells:
        padded = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *padded]).rstrip())
    return "\n".join(lines)


def format_weights(weights):
    """The three weights as text, with as many digits as it takes to use them again."""
    return [f"{weights.lm_weight:.6g}", f"{weights.length_bonus:.6g}", weights.reduction]


def signature(lm, weights):
    """One line that says what a combined score is made of."""
    lm_weight, length_bonus, reduction = format_weights(weights)
    return f"{lm.signature}|reduction:{reduction}|lm_weight:{lm_weight}|length_bonus:{length_bonus}"
