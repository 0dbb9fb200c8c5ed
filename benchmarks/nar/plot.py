"""Draws how an autoencoder reconstructs texts of each length, and texts between two texts.

    python -m benchmarks.nar.plot --model=nar-small --text_file=heldout.txt --output=nar.png \\
        "the first sentence" "the second sentence"

Above: the accuracy of tta reconstruct by the number of word pieces, with its controls. Below: the
reconstructions of the latent vectors at equal distances on the line between two sentences.

Needs matplotlib: pip install '.[plot]'.
"""

from absl import app, flags

FLAGS = flags.FLAGS
FEWEST = 20  # texts of a length; an accuracy of fewer says little
WIDTH, CURVES, LINE = 8.0, 3.2, 0.27  # inches


def main(argv):
    if len(argv) != 3:
        raise app.UsageError("give two sentences as arguments")
    import tta
    from tta.papers.nar.reconstruct import reconstruct
    from tta.papers.nar.reconstruct_config import ReconstructConfig

    report = reconstruct(
        ReconstructConfig(input_file=FLAGS.text_file, max_texts=FLAGS.max_texts), FLAGS.model
    )
    texts = tta.load(FLAGS.model).interpolate(argv[1], argv[2], FLAGS.num_texts)
    draw(report, argv[1:], texts, FLAGS.output)
    print(FLAGS.output)


def draw(report, ends, texts, output):
    """Writes the plot.

    Args:
        report: a `ReconstructReport`.
        ends: the two sentences.
        texts: the texts between them, the reconstructions of both included.
        output: path of the plot.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    quoted = [f"“{end}”" for end in ends]
    parts = [f"{index / (len(texts) - 1):.2f}  {text}" for index, text in enumerate(texts)]
    lines = [(quoted[0], "0.5"), *((part, "black") for part in parts), (quoted[1], "0.5")]
    below = LINE * (len(lines) + 1)
    height = CURVES + below
    figure = plt.figure(figsize=(WIDTH, height))
    bottom = (below + 0.5) / height
    axes = figure.add_axes([0.08, bottom, 0.9, 0.97 - bottom], ylim=(0, 100))
    for row in report.rows:
        lengths, accuracy = by_length(row.hits)
        axes.plot(lengths, accuracy, marker=".", label=row.name)
    axes.set_xlabel("word pieces in the text")
    axes.set_ylabel("right pieces, %")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    for index, (line, colour) in enumerate(lines):
        place = (below - LINE * (index + 1)) / height
        figure.text(0.08, place, line, fontsize=9, va="center", color=colour)
    figure.savefig(output, dpi=150)


def by_length(hits):
    """Lengths with enough texts, and the accuracy at each, in percent."""
    lengths = [n for n in range(1, hits.pieces.max() + 1) if (hits.pieces == n).sum() >= FEWEST]
    return lengths, [hits.accuracy(hits.pieces == n) for n in lengths]


if __name__ == "__main__":
    flags.DEFINE_string("model", "nar-small", "The autoencoder.")
    flags.DEFINE_string("text_file", None, "Texts to reconstruct, one per line.", required=True)
    flags.DEFINE_integer("max_texts", 2000, "How many of them.", lower_bound=1)
    flags.DEFINE_integer("num_texts", 7, "Texts between the two.", lower_bound=2)
    flags.DEFINE_string("output", "nar.png", "Output file, .png or .svg.")
    app.run(main)
