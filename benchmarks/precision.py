"""How much scores depend on the precision and on the batch: differences in nats per sentence.

    python -m benchmarks.precision --model=small

Scores sentences of LibriSpeech dev-clean in each precision, together and one at a time. bfloat16 is
compared with float32 in TensorFlow, int8 in onnxruntime. The data is in $TTA_DATA.
"""

from absl import flags

from benchmarks.paper import common
from tta import cli

FLAGS = flags.FLAGS
ENGINES = {"tensorflow": ("float32", "bfloat16"), "onnxruntime": ("float32", "int8")}


def main():
    import numpy as np
    from scipy.stats import spearmanr
    from tabulate import tabulate

    import tta

    sentences, rows, plain = common.transcripts(), [], {}
    learned = tta.load(FLAGS.model, engine="onnxruntime").config.learned_normalizer
    for normalizer in ("exact", "learned")[: 1 + learned]:
        exact = np.zeros(0)
        for engine, precisions in ENGINES.items():
            for precision in precisions:
                options = {"normalizer": normalizer, "precision": precision, "engine": engine}
                lm = tta.load(FLAGS.model, **options)
                together = lm.score(sentences)
                alone = np.array([lm.score([text])[0] for text in sentences])
                batch = f"{abs(alone - together).max():.2g}"
                exact = together if precision == "float32" else exact
                error, rank = together - exact, spearmanr(together, exact).statistic
                figures = error.mean(), error.std(), abs(error).max()
                shown = [*(f"{value:.2g}" for value in figures), f"{rank:.5f}"]
                shown = ["", "", "", ""] if precision == "float32" else shown
                rows.append([normalizer, engine, precision, *shown, batch])
        plain[normalizer] = exact
    if learned:
        error = plain["learned"] - plain["exact"]
        print(f"learned - exact: mean {error.mean():.2g}, standard deviation {error.std():.2g}")
    heads = "mean", "standard deviation", "largest", "rank correlation"
    names = [f"minus float32: {heads[0]}", *heads[1:], "alone minus in a batch, largest"]
    heads = ["normalizer", "engine", "precision", *names]
    print(tabulate(rows, heads, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_string("model", "small", "The model, as for tta.load.")
    FLAGS.set_default("limit", 200)
    cli.run(main)
