"""Draws the pictures of README and the docs from measured figures, as SVG.

    python -m benchmarks.pictures

docs/evaluation.json has the figures of README's table and picture (`python -m
benchmarks.evaluation`), docs/results.json those of the times. `benchmarks.all_tables` measures
both, and then calls this command. Needs matplotlib: pip install '.[plot]'.
"""

import json
from pathlib import Path

from absl import flags

from benchmarks import ROOT
from benchmarks.timing import draw_by_words
from tta import cli

FLAGS = flags.FLAGS

# Sets of docs/evaluation.json, and what README calls them.
SETS = {
    "Arctic clean": "recorded speech",
    "Arctic 5 dB": "the same in noise",
    "ATIS": "flight requests",
    "IWSLT'14": "translations",
}
ROWS = ("first pass", "no model", "reranked", "oracle")
TASKS = {"reranking": "scores of one sentence", "similarity": "vector of one sentence"}
MODELS = ("T-TA", "biLM", "uniLM")

GREY, BLUE, ORANGE = "#777777", "#1f77b4", "#e07b00"
STYLE = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "pictures",  # the same figures give the same bytes
    "font.family": "sans-serif",
    "font.size": 10,
    "savefig.facecolor": "white",  # readable on a dark page, too
}


def main():
    files = FLAGS.figures, FLAGS.evaluation
    figures = [json.loads(Path(file).read_text(encoding="utf-8")) for file in files]
    print(*draw(*figures, Path(FLAGS.output_dir)), sep="\n")


def draw(record, evaluation, folder):
    """Writes the pictures, and returns their paths.

    `record` is the content of docs/results.json, `evaluation` that of docs/evaluation.json.
    """
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with matplotlib.rc_context(STYLE):
        for name, figure in {
            "wer": error_rates(evaluation),
            "time": times(record["runtime"]),
            "time_gpu": times(record["runtime_layers"]),
            "architecture": architecture(),
        }.items():
            paths.append(folder / f"{name}.svg")
            figure.savefig(paths[-1], metadata={"Date": None})
    return paths


def error_rates(evaluation):
    """What reranking does on each set, with the interval of its difference from the first pass."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 2.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.1)  # fonts differ between browsers
    panels = figure.subplots(1, len(SETS), sharey=True)
    for axes, (name, title) in zip(panels, SETS.items(), strict=True):
        metric, rows = evaluation[name]["metric"], evaluation[name]["rows"]
        first = rows["first pass"][0]
        for place, row in enumerate(ROWS):
            value, _, interval = rows[row]
            colour = ORANGE if row == "reranked" else GREY
            if row == "reranked":
                sign = -1 if metric == "WER" else 1  # a gain lowers errors
                ends = [first * (1 + sign * gain / 100) for gain in interval]
                axes.plot(ends, [place] * 2, color=colour, lw=2, alpha=0.5)
            axes.plot(value, place, "o", color=colour)
            axes.annotate(
                f"{value:.2f}", (value, place), (0, 5), textcoords="offset points", ha="center"
            )
        axes.axvline(first, color=GREY, lw=0.8, ls=":")
        better = "lower" if metric == "WER" else "higher"
        axes.set(
            title=title, xlabel=f"{metric}{' %' if metric == 'WER' else ''}, {better} is better"
        )
        axes.set_ylim(len(ROWS) - 0.5, -0.8)
        axes.margins(x=0.2)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(left=False)
    panels[0].set_yticks(range(len(ROWS)), ROWS)
    return figure


def times(table):
    """Milliseconds against words, one panel per task, with logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.4), layout="constrained")
    for axes, (task, title) in zip(figure.subplots(1, 2, sharey=True), TASKS.items(), strict=True):
        curves = {
            model: {
                int(row.removesuffix(" words")): cells[f"{task}: {model}, ms"]
                for row, cells in table["rows"].items()
            }
            for model in MODELS
            if all(f"{task}: {model}, ms" in cells for cells in table["rows"].values())
        }
        draw_by_words(axes, curves, "ms", title)
    return figure


def architecture():
    """A T-TA: a query stream that starts from positions, and a fixed stream of keys and values."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4))
    axes = figure.add_axes([0, 0, 1, 1], xlim=(0, 16), ylim=(0, 8))
    axes.axis("off")

    def box(x, y, width, text, colour, height=0.9):
        axes.add_patch(
            matplotlib_box((x - width / 2, y - height / 2), width, height, colour, boxstyle="round")
        )
        axes.text(x, y, text, ha="center", va="center")

    def arrow(start, end):
        axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": "black"})

    box(4, 1.0, 6.4, "tokens + positions, LayerNorm", "#dbe9f6")
    box(12, 1.0, 5.6, "positions, LayerNorm", "#fde6cf")
    axes.text(4, 0.2, "keys and values: the same in every layer", ha="center", color=GREY)
    axes.text(12, 0.2, "query: the same for every sentence", ha="center", color=GREY)
    layers = (2.9, 4.3, 5.7)
    for number, y in enumerate(layers, 1):
        box(12, y, 5.6, f"layer {number}: attention, feed-forward", "#fff3d6")
        axes.plot([4, 8.9], [y, y], color="black", lw=1)
        arrow((8.9, y), (9.15, y))
    axes.plot([4, 4], [1.5, layers[-1]], color="black", lw=1)
    for low, high in zip((1.0, *layers), layers, strict=False):
        arrow((12, low + 0.5), (12, high - 0.5))
    arrow((12, layers[-1] + 0.5), (12, 6.75))
    box(12, 7.25, 5.6, "log-probability of every token", "#e2f0d9")
    # The mask: query i sees every key but key i.
    left, bottom, size, count = 0.9, 3.3, 0.5, 5
    for i in range(count):
        for j in range(count):
            axes.add_patch(
                matplotlib_box(
                    (left + j * size, bottom + (count - 1 - i) * size), size, size,
                    "white" if i == j else "#9ecae1",
                )
            )  # fmt: skip
    axes.text(left, bottom + count * size + 0.75, "attention mask:", va="center")
    axes.text(left, bottom + count * size + 0.3, "query i sees all keys but i", va="center")
    return figure


def matplotlib_box(corner, width, height, colour, boxstyle="square"):
    """A filled box with a thin grey edge."""
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch(
        corner, width, height, f"{boxstyle},pad=0", facecolor=colour, edgecolor=GREY, lw=0.8
    )


if __name__ == "__main__":
    flags.DEFINE_string("figures", str(ROOT / "docs/results.json"), "Figures of the papers.")
    flags.DEFINE_string("evaluation", str(ROOT / "docs/evaluation.json"), "Figures of README.")
    flags.DEFINE_string("output_dir", str(ROOT / "docs/pictures"), "Folder of the pictures.")
    cli.run(main)
