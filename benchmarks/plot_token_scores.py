"""Plots sentences with each word piece coloured by its log-probability.

    python -m benchmarks.plot_token_scores --output=scores.png "first sentence" "second sentence"

Needs matplotlib: pip install '.[plot]'.
"""

from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_string("output", "scores.png", "Output file, .png or .svg.")
flags.DEFINE_string("model", None, "Model directory. Default: the built-in model.")
flags.DEFINE_float(
    "lowest", -12.0, "Natural log-probability with the darkest colour.", upper_bound=-0.1
)

# Width of a character, height of a line and margin in inches, at this font size.
CHARACTER, LINE, MARGIN, FONT_SIZE = 0.125, 0.62, 0.25, 14


def draw(scored, output, lowest):
    """Writes the plot.

    Args:
        scored: a list of (`TokenScores`, sum of its log-probabilities).
        output: path of the plot.
        lowest: log-probability of the darkest colour.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    colours, scale = matplotlib.colormaps["YlOrRd"], matplotlib.colors.Normalize(0, -lowest)
    widest = max(sum(len(t) + 1.2 for t in scores.tokens) for scores, _ in scored)
    width, height = widest * CHARACTER + 1.4 + 2 * MARGIN, len(scored) * LINE + 2 * MARGIN + 0.6
    figure = plt.figure(figsize=(width, height))
    axes = figure.add_axes([0, 0, 1, 1], xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    font = {"family": "monospace", "size": FONT_SIZE, "ha": "center", "va": "center"}
    for row, (scores, total) in enumerate(scored):
        x, y = MARGIN, MARGIN + row * LINE
        for token, score in zip(scores.tokens, scores.log_probabilities, strict=True):
            size = (len(token) + 1) * CHARACTER
            colour = colours(scale(-score))
            axes.add_patch(plt.Rectangle((x, y), size, LINE * 0.75, color=colour, lw=0))
            ink = "white" if scale(-score) > 0.6 else "black"
            axes.text(x + size / 2, y + LINE * 0.37, token, color=ink, **font)
            x += size + 0.2 * CHARACTER
        axes.text(x + 0.2, y + LINE * 0.37, f"{total:.1f}", **(font | {"ha": "left"}))
    legend = figure.add_axes([MARGIN / width, 0.32 / height, 2.6 / width, 0.13 / height])
    bar = figure.colorbar(
        matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(lowest, 0), colours.reversed()),
        cax=legend,
        orientation="horizontal",
    )
    bar.set_label("log-probability (ln) given all other pieces; the sum is on the right", size=9)
    bar.ax.tick_params(labelsize=8)
    bar.ax.xaxis.set_label_coords(1.05, 0.9)
    bar.ax.xaxis.label.set_horizontalalignment("left")
    figure.savefig(output, dpi=150)


def main(argv):
    if len(argv) < 2:
        raise app.UsageError("give the sentences as arguments")
    import tta

    lm = tta.load(FLAGS.model, normalizer="exact")
    scored = lm.score_tokens(argv[1:])
    draw([(s, s.log_probabilities.sum()) for s in scored], FLAGS.output, FLAGS.lowest)
    print(FLAGS.output)


if __name__ == "__main__":
    app.run(main)
