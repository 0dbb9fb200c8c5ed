"""Draws which words of two sentences meet: the picture of docs/tutorials/similarity.md.

    python -m benchmarks.align_picture
    python -m benchmarks.align_picture --output=words.png "first sentence" "second sentence"

Needs matplotlib: pip install '.[plot]'.
"""

from pathlib import Path
from typing import Any

from absl import app, flags

from benchmarks import ROOT
from benchmarks.pictures import BLUE, GREY, STYLE
from tta.scoring.scorers.text_model import TextModel

FLAGS = flags.FLAGS
SENTENCES = ("Some kids play soccer", "The children are playing football in the park")

# In inches: the width of a character, between words, the height of the lines.
CHARACTER, GAP, HEIGHT = 0.125, 0.3, 1.3
POINTS = 22  # the width of a line whose weight is 1
# The least cosine that has a line, and the least that is written beside it.
LEAST, LEAST_WRITTEN = 0.05, 0.2


def draw(lm: TextModel, first_text: str, second_text: str, output: Path | str) -> None:
    """Writes the picture, .svg or .png: a line is as wide as its weight and as dark as its cosine.

    Pairs of words whose cosine is below `LEAST` have no line.
    """
    import matplotlib
    from matplotlib.figure import Figure

    pairs = lm.align(first_text, second_text)
    alignment, aligned = (
        lm.similarity([first_text], [second_text], name)[0] for name in ("alignment", "aligned")
    )
    title = f"sum of cosine times weight: {alignment:.2f}; with the cosine of means: {aligned:.2f}"
    first = {pair.first_index: pair.first for pair in pairs}
    second = {pair.second_index: pair.second for pair in pairs}
    places = [_places(words) for words in (first, second)]
    width = max(max(of_row.values()) for of_row in places) + 1.0
    style: Any = STYLE
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(width, HEIGHT + 1.0))
        axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, HEIGHT + 1.0))
        axes.axis("off")
        axes.text(width / 2, HEIGHT + 0.8, title, ha="center", va="center", color=GREY)
        for pair in sorted(pairs, key=lambda pair: pair.cosine):
            ends = places[0][pair.first_index], places[1][pair.second_index]
            if pair.cosine < LEAST:
                continue
            size, shade = max(0.6, POINTS * pair.weight), max(0.15, pair.cosine)
            axes.plot(ends, (HEIGHT + 0.2, 0.55), color=BLUE, lw=size, alpha=shade)
            if pair.cosine >= LEAST_WRITTEN:
                x, y = 0.5 * (ends[0] + ends[1]), 0.5 * HEIGHT + 0.37
                axes.text(x, y, f"{pair.cosine:.2f}", **_LABEL)
        for words, of_row, y in ((first, places[0], HEIGHT + 0.4), (second, places[1], 0.3)):
            for index, word in sorted(words.items()):
                axes.text(of_row[index], y, word, ha="center", va="center", size=13)
        figure.savefig(
            output, dpi=150, metadata={"Date": None} if str(output)[-4:] == ".svg" else {}
        )


_LABEL = {
    "ha": "center",
    "va": "center",
    "size": 8,
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 1},
}


def _places(words):
    """{index of a word: the middle of it, in inches from the left}."""
    places, left = {}, 0.5
    for index in sorted(words):
        size = CHARACTER * len(words[index])
        places[index] = left + size / 2
        left += size + GAP
    return places


def main(argv):
    if len(argv) not in (1, 3):
        raise app.UsageError("give two sentences, or none")
    import tta

    first, second = argv[1:] or SENTENCES
    draw(tta.load(FLAGS.model), first, second, FLAGS.output)
    print(FLAGS.output)


if __name__ == "__main__":
    flags.DEFINE_string("output", str(ROOT / "docs/pictures/alignment.svg"), "Output file.")
    flags.DEFINE_string("model", None, "As in tta.load. Default: the built-in model.")
    app.run(main)
