"""Times a training step with the loss in 1, 4, 8 and 16 parts; interleaved, medians of 9.

    python benchmarks/training_step.py --config_file=configs/small.json

Prints seconds and tokens per second of the whole step in bfloat16, including the optimizer.
"""

import statistics
import sys
import time
from pathlib import Path

from absl import app, flags

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

FLAGS = flags.FLAGS
flags.DEFINE_string("config_file", "configs/small.json", "The model's config.json.")
flags.DEFINE_integer("vocab_size", 16000, "Pieces, if the config does not say.", lower_bound=6)
flags.DEFINE_integer("sentences", 128, "Sentences per batch.", lower_bound=1)
flags.DEFINE_integer("length", 32, "Tokens per sentence.", lower_bound=1)

PARTS, RUNS = (1, 4, 8, 16), 9


def make_step(config, num_parts, batch):
    """A compiled training step whose loss is computed in `num_parts` parts."""
    import tensorflow as tf

    from tta.modeling.heads import cross_entropy
    from tta.modeling.models.language_model import LanguageModel
    from tta.modeling.training.optimizers import BertAdamW

    model = LanguageModel(config, dtype="mixed_bfloat16")
    optimizer = BertAdamW(1e-4)
    optimizer.build(model.trainable_variables)
    weights = tf.fill(batch["input_ids"].shape, 1.0 / batch["input_ids"].size)
    shapes = {name: tf.TensorSpec([None, None], array.dtype) for name, array in batch.items()}

    @tf.function(autograph=False, input_signature=[shapes])
    def step(batch):
        cross_entropy.NUM_PARTS = num_parts  # read while the graph is traced
        with tf.GradientTape() as tape:
            hidden_states = model.encode(batch, training=True)["hidden_states"]
            loss = model.loss_of(hidden_states, batch["input_ids"], weights)
        variables = model.trainable_variables
        gradients = tape.gradient(loss, [v.value for v in variables])
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    return step


def main(_):
    import numpy as np

    import tta  # noqa: F401  (silences TensorFlow)
    from tta.modeling.config.base import read_config

    config = read_config(FLAGS.config_file, vocab_size=FLAGS.vocab_size)
    ids = np.random.default_rng(0).integers(
        5, config.vocab_size, (FLAGS.sentences, FLAGS.length), dtype=np.int32
    )
    batch = {"input_ids": ids, "padding_mask": np.ones_like(ids, bool)}
    steps = {parts: make_step(config, parts, batch) for parts in PARTS}
    for step in steps.values():
        step(batch).numpy()
    seconds = {parts: [] for parts in PARTS}
    for _ in range(RUNS):
        for parts, step in steps.items():
            start = time.perf_counter()
            step(batch).numpy()
            seconds[parts].append(time.perf_counter() - start)
    for parts, values in seconds.items():
        median = statistics.median(values)
        print(
            f"{parts:2} parts: {median:.3f} s ({min(values):.3f} to {max(values):.3f}), "
            f"{ids.size / median:,.0f} tokens/s"
        )


if __name__ == "__main__":
    app.run(main)
