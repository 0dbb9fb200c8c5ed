"""How much scores depend on the precision and on the batch: differences in nats per sentence.

    python -m benchmarks.precision --model=small

Prints one line per normalizer. It scores sentences of LibriSpeech dev-clean in float32 and in
bfloat16, together and one at a time. The data is in $TTA_DATA.
"""

from absl import flags

from benchmarks.paper import common
from tta import cli
from tta.choices import PRECISIONS

FLAGS = flags.FLAGS
NORMALIZERS = ("exact", "learned")


def main():
    import numpy as np
    from tabulate import tabulate

    import tta

    sentences = common.transcripts()
    exact, rows = tta.load(FLAGS.model), []
    for normalizer in NORMALIZERS:
        if normalizer == "learned" and not exact.model.config.learned_normalizer:
            continue
        together, alone = [], []
        for precision in PRECISIONS:
            lm = tta.load(FLAGS.model, normalizer=normalizer, precision=precision)
            together.append(lm.score(sentences))
            alone.append(np.array([lm.score([text])[0] for text in sentences]))
        if normalizer == "learned":
            error = together[0] - exact.score(sentences)
            print(f"learned - exact: mean {error.mean():.2g}, standard deviation {error.std():.2g}")
        error = together[1] - together[0]
        batch = [abs(a - b).max() for a, b in zip(alone, together, strict=True)]
        figures = error.mean(), error.std(), abs(error).max(), *batch
        rows.append([normalizer, *(f"{value:.2g}" for value in figures)])
    heads = "mean", "standard deviation", "largest", "float32", "bfloat16"
    names = [f"bfloat16 - float32, {name}" for name in heads[:3]]
    names += [f"alone - in a batch, {name}" for name in heads[3:]]
    print(tabulate(rows, ["normalizer", *names], tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_string("model", "small", "The model, as for tta.load.")
    FLAGS.set_default("limit", 200)
    cli.run(main)
