"""The error on dev lists against lm_weight (Shin et al. 2020, figures 4 and 5): text or figure."""

from dataclasses import dataclass, replace

import numpy as np

from tta.scoring.reranking import FIRST_PASS, mix, select, total
from tta.scoring.tuning import LM_WEIGHTS

# Okabe and Ito's colours that stand out on white and on black, told apart by the colour-blind; the
# dashes tell them apart without colour.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#B58900")
_DASHES = ("-", "--", "-.", ":")


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
            axes.plot(line.lm_weights, line.values, dashes, color=colour, label=f" {line.name}")
            axes.plot(*line.tuned, "o", color=colour)
        axes.set_xlabel("lm_weight (dots: tuned)")
        axes.set_ylabel(
            f"{metric.name} on dev, %" if metric.name == "WER" else f"{metric.name} on dev"
        )
        axes.set_xlim(0, 1)
        axes.grid(alpha=0.3)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        axes.legend(frameon=False)
    return figure
