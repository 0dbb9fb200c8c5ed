"""Draws docs/pictures/attention.png: what the tokens of a sentence attend to in a T-TA and a biLM.

    python -m benchmarks.attention_picture
    python -m benchmarks.attention_picture --layer=0 --output=attention.png "another sentence"

Each map is a layer's, the mean over its heads. Needs matplotlib: pip install '.[plot]'.
"""

from typing import Any

from absl import app, flags

from benchmarks import ROOT

FLAGS = flags.FLAGS
flags.DEFINE_string("output", str(ROOT / "docs/pictures/attention.png"), "Output file.")
flags.DEFINE_integer("layer", -1, "The layer: 0 is the first, -1 the last.")
SENTENCE = "i scream for ice cream"
BILM = ROOT / "pretrained/bilm-small"  # of the size of the built-in T-TA, trained on the same text


def draw(maps, layer, output):
    """Writes the picture; `maps` is {title: `AttentionMaps`}."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import Rectangle

    figure, panels = plt.subplots(1, len(maps), figsize=(10.4, 5.2), layout="constrained")
    image: Any = None
    for panel, (title, attention) in zip(panels, maps.items(), strict=True):
        weights = attention.maps[layer].mean(axis=0)
        image = panel.imshow(weights, cmap="Blues", vmin=0.0, vmax=1.0)
        places = range(len(attention.tokens))
        panel.set_xticks(places, attention.tokens, rotation=60, ha="right", rotation_mode="anchor")
        panel.set_yticks(places, attention.tokens)
        for row in places:
            for column in places:
                ink = "white" if weights[row, column] > 0.6 else "black"
                weight = weights[row, column]
                text = "0" if weight == 0 else f"{weight:.2f}".removeprefix("0")
                panel.text(column, row, text, ha="center", va="center", color=ink, fontsize=9)
            box = (row - 0.47, row - 0.47), 0.94, 0.94
            panel.add_patch(Rectangle(*box, fill=False, ec="tab:red"))
        panel.set_title(title)
        panel.set_xlabel("attended to")
    panels[0].set_ylabel("token")
    figure.colorbar(image, ax=panels, shrink=0.8, label="weight, mean over heads")
    figure.savefig(output, dpi=110)


def main(argv):
    import tta

    sentences = argv[1:] or [SENTENCE]
    models = {"T-TA: no token sees itself": tta.load(), "biLM: every token does": tta.load(BILM)}
    maps = {title: lm.attention(sentences[:1])[0] for title, lm in models.items()}
    draw(maps, FLAGS.layer, FLAGS.output)
    print(FLAGS.output)


if __name__ == "__main__":
    app.run(main)
