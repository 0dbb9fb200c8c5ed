"""How much scores depend on the precision and on the batch: differences in nats per sentence.

    python -m benchmarks.precision --model=small

Scores sentences of LibriSpeech dev-clean in each precision, in batches of several sizes. bfloat16
is compared with float32 in TensorFlow, int8 in onnxruntime. With --random_text, the sentences are
words drawn from the vocabulary: a model finds them improbable, and rounding matters more. The data
is in $TTA_DATA.
"""

import random

from absl import flags

from benchmarks.paper import common
from tta import cli

FLAGS = flags.FLAGS
ENGINES = {"tensorflow": ("float32", "bfloat16"), "onnxruntime": ("float32", "int8")}
BATCH_TOKENS = None, 1, 128, 1024, 16384  # None is the model's own choice, 1 a sentence at a time
WORDS = 2, 40  # of a random sentence


def main():
    import numpy as np
    from scipy.stats import spearmanr
    from tabulate import tabulate

    import tta

    lm, rows, plain = tta.load(FLAGS.model, engine="onnxruntime"), [], {}
    sentences = random_text(lm.tokenizer) if FLAGS.random_text else common.transcripts()
    learned = lm.config.learned_normalizer
    for normalizer in ("exact", "learned")[: 1 + learned]:
        exact = np.zeros(0)
        for engine, precisions in ENGINES.items():
            for precision in precisions:
                options = {"normalizer": normalizer, "precision": precision, "engine": engine}
                scores = [
                    tta.load(FLAGS.model, batch_tokens=size, **options).score(sentences)
                    for size in BATCH_TOKENS
                ]
                together, batch = scores[0], f"{np.ptp(scores, axis=0).max():.2g}"
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
    names = [f"minus float32: {heads[0]}", *heads[1:], "between batch sizes, largest"]
    heads = ["normalizer", "engine", "precision", *names]
    print(tabulate(rows, heads, tablefmt="github", disable_numparse=True))


def random_text(tokenizer):
    """--limit sentences of words that are drawn from the vocabulary."""
    words = [piece for piece in tokenizer.vocabulary.tokens if piece.isalpha()]
    rng = random.Random(0)
    lengths = (rng.randint(*WORDS) for _ in range(FLAGS.limit))
    return [" ".join(rng.choices(words, k=length)) for length in lengths]


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_bool("random_text", False, "Scores random words in place of transcripts.")
    flags.DEFINE_string("model", "small", "The model, as for tta.load.")
    FLAGS.set_default("limit", 200)
    cli.run(main)
