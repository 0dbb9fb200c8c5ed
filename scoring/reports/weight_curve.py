"""The error on dev lists against lm_weight: text or figure."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import numpy as np

from tta.scoring.combining.decision import select
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.weights import FIRST_PASS, RerankWeights

# Colours of medium lightness, with a contrast of at least 3:1 on white and on the dark page. The
# hues are distinct for colour-blind readers; the dashes tell the lines apart without colour.
_COLOURS = ("#2B83D3", "#D0601A", "#1B9E6B", "#B565C9")
_DASHES = ("-", "--", "-.", ":")

# The scales of the scores may differ by orders of magnitude, so on a linear axis the whole curve
# may lie in the last hundredth. The axis and the weights are therefore even in log(w / (1 - w)).
_ODDS = np.geomspace(1e-3, 1e3, 61)
LM_WEIGHTS = _ODDS / (1 + _ODDS)
_TICKS = (0.0, 0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1.0)
_END = 3.5

_DOTS = "Dots: the weights in use, which are not always the best on dev alone."


@dataclass(frozen=True)
class Line:
    """The metric over the picks of one system at each total weight of its language models.

    `lm_weights` [W] float64 rise from 0 to 1; `values` [W] float64 are the metric. The point of the
    chosen weights is `tuned`: (lm_weight, value).
    """

    name: str
    lm_weights: np.ndarray
    values: np.ndarray
    tuned: tuple[float, float]


@dataclass(frozen=True)
class WeightCurve:
    """The lines of one figure, one per system, and the metric of the first pass to compare with."""

    metric_name: str
    first_pass: float
    lines: list[Line]


def measure_curve(
    lists: ScoredLists, statistics: ListStatistics, systems: Mapping[str, RerankWeights]
) -> WeightCurve:
    """Measures one line per system. All other weights stay fixed along a line."""
    even = np.linspace(0, 1, 101)  # looks smooth; LM_WEIGHTS is for scales that differ much

    def value(weights):
        return statistics.value(select(lists, weights))

    lines = []
    for name, weights in systems.items():
        grid = np.unique([*even, *LM_WEIGHTS, weights.lm_weight])
        values = [value(replace(weights, lm_weight=float(weight))) for weight in grid]
        lines.append(Line(name, grid, np.array(values), (weights.lm_weight, value(weights))))
    return WeightCurve(statistics.metric.name, value(FIRST_PASS), lines)


def draw_svg(curve: WeightCurve) -> str:
    """A curve as an SVG file."""
    stream = io.BytesIO()
    write_curve(stream, ".svg", curve)
    return stream.getvalue().decode()


def write_curve(stream: BinaryIO, format: str, curve: WeightCurve) -> None:
    """Writes a curve as a figure (format ".png" or ".svg") or as text (".tsv").

    The columns of the text are model, lm_weight and the metric, with a header.
    """
    if format == ".tsv":
        stream.write(f"model\tlm_weight\t{curve.metric_name}\n".encode())
        for line in curve.lines:
            for weight, value in zip(line.lm_weights, line.values, strict=True):
                stream.write(f"{line.name}\t{weight:.6g}\t{value:.4f}\n".encode())
        return
    import matplotlib

    # A "$" in a name does not start a formula. Text in a .svg stays text, and its bytes are the
    # same every time.
    settings: Any = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "tta-lm"}
    options: Any = {"metadata": {"Date": None}} if format == ".svg" else {"dpi": 150}
    with matplotlib.rc_context(settings):
        _draw(curve).savefig(stream, format=format[1:], **options)


def _position(weight):
    """The position of a weight on the axis: log10(w / (1 - w)), with 0 and 1 at the ends."""
    if not 0 < weight < 1:
        return -_END if weight <= 0 else _END
    return float(np.clip(np.log10(weight / (1 - weight)), -_END, _END))


def _draw(curve):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(curve.first_pass, color="#888888", linewidth=1, label="first pass")
    for i, line in enumerate(curve.lines):
        colour = _COLOURS[i % len(_COLOURS)]
        dashes = _DASHES[i % len(_DASHES)]
        # matplotlib omits names that start with "_" from the legend, hence the space.
        positions = [_position(weight) for weight in line.lm_weights]
        axes.plot(positions, line.values, dashes, color=colour, label=f" {line.name}")
        axes.plot(_position(line.tuned[0]), line.tuned[1], "o", color=colour, clip_on=False)
    axes.set_xticks([_position(weight) for weight in _TICKS], [f"{w:g}" for w in _TICKS])
    axes.set_xlim(_position(0.0), _position(1.0))
    axes.set_xlabel(f"lm_weight, even in the log of w / (1 - w)\n{_DOTS}")
    axes.set_ylabel(f"{curve.metric_name} on dev")
    axes.grid(alpha=0.3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False)
    return figure
