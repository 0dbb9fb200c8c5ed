"""Draws the pictures of README and the docs from measured figures, as SVG.

    python -m benchmarks.pictures

docs/results.json has the figures. benchmarks/paper/run_all.sh measures them, and then calls this
command. Needs matplotlib: pip install '.[plot]'.
"""

import json
from pathlib import Path

from absl import flags

from benchmarks import ROOT
from benchmarks.timing import draw_by_words
from tta import cli

FLAGS = flags.FLAGS

SETS = {"Arctic clean": "clean speech", "Arctic snr5": "in noise, 5 dB"}
# Rows of table 1, and what the picture calls them.
ROWS = {
    "first pass": "first pass",
    "no model": "no model",
    "n-gram": "5-gram",
    "uniLM": "uniLM",
    "biLM": "biLM",
    "T-TA, exact": "T-TA, exact",
    "T-TA, learned": "T-TA, learned",
    "cloze, exact": "cloze, exact",
    "cloze base, exact": "cloze base, exact",
    "oracle": "oracle",
}
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
    record = json.loads(Path(FLAGS.figures).read_text(encoding="utf-8"))
    print(*draw(record, Path(FLAGS.output_dir)), sep="\n")


def draw(record, folder):
    """Writes the pictures of `record`, the content of docs/results.json: their paths."""
    import matplotlib

    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with matplotlib.rc_context(STYLE):
        for name, figure in {
            "wer": error_rates(record["table1"]),
            "time": times(record["runtime"]),
            "architecture": architecture(),
        }.items():
            paths.append(folder / f"{name}.svg")
            figure.savefig(paths[-1], metadata={"Date": None})
    return paths


def error_rates(table):
    """The WER of each row of table 1, with the interval of its difference from the first pass."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.15)  # fonts differ between browsers
    panels = figure.subplots(1, len(SETS), sharey=True)
    for axes, (column, title) in zip(panels, SETS.items(), strict=True):
        first = table["rows"]["first pass"][column]
        for place, (row, _) in enumerate(ROWS.items()):
            value = table["rows"][row][column]
            model = row in table["signatures"]
            colour = (ORANGE if row.startswith("T-TA") else BLUE) if model else GREY
            against = table["differences"][column].get(row, {}).get("first pass")
            if against:
                _, low, high = against
                axes.plot([first + low, first + high], [place] * 2, color=colour, lw=2, alpha=0.5)
            axes.plot(value, place, "o", color=colour)
            axes.annotate(
                f"{value:.1f}", (value, place), (0, 5), textcoords="offset points", ha="center"
            )
        axes.axvline(first, color=GREY, lw=0.8, ls=":")
        axes.set(title=title, xlabel="WER %, lower is better")
        axes.set_ylim(len(ROWS) - 0.5, -0.8)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(left=False)
    panels[0].set_yticks(range(len(ROWS)), ROWS.values())
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
    flags.DEFINE_string("figures", str(ROOT / "docs/results.json"), "File of measured figures.")
    flags.DEFINE_string("output_dir", str(ROOT / "docs/pictures"), "Folder of the pictures.")
    cli.run(main)
