"""Runtime against the number of words, of T-TA, biLM and uniLM (the paper's figures 4 and 5).

    python -m benchmarks.paper.runtime

Each call processes one sentence. The models have the paper's size and random weights, which do not
affect the speed. "similarity" computes the last layer's outputs; "reranking" computes the scores,
including the softmax over the vocabulary. Everything is timed in one process, round after round:
trust the ratios, not the seconds. If TensorFlow finds a GPU, it is used (the paper's figure 6), and
the conditions say so.
"""

import os

from absl import flags

from benchmarks.paper import common
from tta import cli

FLAGS = flags.FLAGS

LENGTHS = (5, 10, 20, 40, 60, 80, 100, 120)
TASKS = ("similarity", "reranking")
# 20 words on a CPU, mean of 50 runs (section 5.2).
PAPER = {
    "similarity: T-TA, ms": 9.85,
    "similarity: biLM, ms": 125.0,
    "similarity: biLM / T-TA": 12.7,
    "reranking: biLM / T-TA": 6.35,
}
NAMES = {"tta": "T-TA", "bilm": "biLM", "unilm": "uniLM"}
COLUMNS = [
    *(f"{task}: {name}, ms" for task in TASKS for name in NAMES.values()),
    *(f"{task}: biLM / T-TA" for task in TASKS),
]
ROUNDS, SLOW_ROUNDS = 11, 3
SLOW_PASSES = 40  # longer sentences of a biLM, with one pass per word, are timed less often


def main():
    import tensorflow as tf

    from benchmarks.speed_cases import MODELS, sentences, text_model
    from benchmarks.timing import Case, interleave

    cases = []
    for model in MODELS:
        lm = text_model(model, "float32")
        for words in LENGTHS:
            texts = sentences(1, words)
            slow = model == "bilm" and words >= SLOW_PASSES
            for task, call in (("similarity", lm.encode), ("reranking", lm.score)):
                cases.append(
                    Case(
                        f"{task} {model} {words}",
                        lambda call=call, texts=texts: call(texts),
                        rounds=SLOW_ROUNDS if slow else None,
                    )
                )
    times = interleave(cases, FLAGS.rounds)
    table = common.Table(
        "runtime",
        "Figures 4 and 5: runtime against the number of words",
        COLUMNS,
        {"20 words": PAPER},
        conditions=[
            f"One sentence; {'GPU' if tf.config.list_physical_devices('GPU') else 'CPU'}, "
            f"{os.cpu_count()} cores, float32; 3 layers of 512, vocabulary 29,530; medians of "
            f"{FLAGS.rounds} rounds, at most {SLOW_ROUNDS} for a biLM from {SLOW_PASSES} words on",
            "Paper: on a CPU, mean of 50 runs (section 5.2). On a GTX 1080 Ti (figure 6), the T-TA "
            "took 2.51 ms and the biLM 4.72 ms",
        ],
    )
    fill(table, times)
    table.save()


def fill(table, times):
    """Sets the cells of COLUMNS; `times` is {"TASK MODEL WORDS": `Times`} of all cases."""
    seconds = {name: one.median for name, one in times.items()}
    for words in LENGTHS:
        row = f"{words} words"
        for task in TASKS:
            for model, name in NAMES.items():
                table.set(row, f"{task}: {name}, ms", 1e3 * seconds[f"{task} {model} {words}"])
            ratio = seconds[f"{task} bilm {words}"] / seconds[f"{task} tta {words}"]
            table.set(row, f"{task}: biLM / T-TA", ratio)


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_integer("rounds", ROUNDS, "Rounds; long sentences of a biLM get at most 3.")
    cli.run(main)
