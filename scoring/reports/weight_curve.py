"""The error on dev lists against lm_weight (Shin et al. 2020, figures 4 and 5): text or figure."""

from dataclasses import dataclass, replace

import numpy as np

from tta.scoring.combining.scored_lists import FIRST_PASS, mix, select, total
from tta.scoring.combining.tuning import LM_WEIGHTS

# Of middle lightness, at least 3 to 1 against white and against the dark page; the hues stay apart
# for the colour-blind, and the dashes tell the lines apart without colour.
_COLOURS = ("#2B83D3", "#D0601A", "#1B9E6B", "#B565C9")
_DASHES = ("-", "--", "-.", ":")

# The scores may differ in scale by orders of magnitude, either way: on an even axis the whole curve
# may hide in the last hundredth. So the axis is even where the tuning's grid is.
_TICKS = (0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0)
_END = 3.5


@dataclass(frozen=True)
class Curve:
    """One line: how good the picks are at each weight of the language model.

    Attributes:
        name: whose line it is.
        lm_weights: [W] float64, rising from 0 to 1; of a mixture, the weight of the whole.
        values: [W] float64, the metric over all picks.
        tuned: (lm_weight, value) of the weights that were chosen; a point of the line.
    """

    name: str
    lm_weights: np.ndarray
    values: np.ndarray
    tuned: tuple


def curves(models, statistics, metric, systems):
    """Measures one line a system; shares, bonus and reduction stay as they are in it.

    Args:
        models: K `ScoredLists` of the same lists, with first-pass scores.
        statistics: [L, N, S] int64, see `reranking.count_statistics`.
        metric: `WordErrorRate` or `Bleu`.
        systems: {name: `MixtureWeights`}.

    Returns:
        A list of `Curve`.
    """
    # Even steps for the eye, the tuning's own steps for scores of very different scales.
    even = np.linspace(0, 1, 101)

    def value(lists, weights):
        return float(metric.corpus(total(statistics, select(lists, weights))))

    lines = []
    for name, mixture in systems.items():
        lists, weights = mix(models, mixture.shares), mixture.weights
        grid = np.unique([*even, *LM_WEIGHTS, weights.lm_weight])
        values = [value(lists, replace(weights, lm_weight=float(weight))) for weight in grid]
        tuned = weights.lm_weight, value(lists, weights)
        lines.append(Curve(name, grid, np.array(values), tuned))
    return lines


def first_pass_value(models, statistics, metric):
    """The metric of the first pass, which every line is compared with: a float."""
    return float(metric.corpus(total(statistics, select(models[0], FIRST_PASS))))


def write_curves(stream, format, lines, metric, first_pass):
    """Writes lines as text or as a figure.

    Args:
        stream: a binary stream.
        format: ".tsv" (model, lm_weight, value; with a header), ".png" or ".svg".
        lines: a list of `Curve`.
        metric: `WordErrorRate` or `Bleu`.
        first_pass: the first pass's value.
    """
    if format == ".tsv":
        stream.write(f"model\tlm_weight\t{metric.name}\n".encode())
        for line in lines:
            for weight, value in zip(line.lm_weights, line.values, strict=True):
                stream.write(f"{line.name}\t{weight:.6g}\t{value:.4f}\n".encode())
        return
    figure = _draw(lines, metric, first_pass)
    if format == ".svg":
        # Text as text, and the same bytes every time.
        with _settings({"svg.fonttype": "none", "svg.hashsalt": "tta-lm"}):
            figure.savefig(stream, format="svg", metadata={"Date": None})
    else:
        figure.savefig(stream, format="png", dpi=150)


def _settings(values):
    import matplotlib

    # A name may hold "$": it is no formula.
    return matplotlib.rc_context({"text.parse_math": False, **values})


def _place(weight):
    """Where a weight stands on the axis: log10 of w / (1 - w), with 0 and 1 at the ends."""
    if not 0 < weight < 1:
        return -_END if weight <= 0 else _END
    return float(np.clip(np.log10(weight / (1 - weight)), -_END, _END))


def _draw(lines, metric, first_pass):
    from matplotlib.figure import Figure

    with _settings({}):
        figure = Figure(figsize=(7, 4), layout="constrained")
        axes = figure.add_subplot()
        axes.axhline(first_pass, color="#888888", linewidth=1, label="first pass")
        for i, line in enumerate(lines):
            colour = _COLOURS[i % len(_COLOURS)]
            dashes = _DASHES[i % len(_DASHES)]
            # matplotlib leaves names that start with "_" out of the legend; the space prevents it.
            places = [_place(weight) for weight in line.lm_weights]
            axes.plot(places, line.values, dashes, color=colour, label=f" {line.name}")
            axes.plot(_place(line.tuned[0]), line.tuned[1], "o", color=colour, clip_on=False)
        axes.set_xticks([_place(weight) for weight in _TICKS], [f"{w:g}" for w in _TICKS])
        axes.set_xlim(_place(0.0), _place(1.0))
        axes.set_xlabel("lm_weight, even in the log of w / (1 - w) (dots: tuned)")
        axes.set_ylabel(f"{metric.name} on dev")
        axes.grid(alpha=0.3)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False)
    return figure
