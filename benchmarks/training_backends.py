"""Tokens a second of the steps of run_pretraining.py, on Keras's backend.

    KERAS_BACKEND=tensorflow python -m benchmarks.training_backends
    KERAS_BACKEND=jax python -m benchmarks.training_backends

A step takes 4,096 tokens, 128 sentences of 32, of T-TA small with 16,000 pieces and the exact
softmax.
"""

import importlib

import numpy as np
from absl import app, flags

from tta.choices import PRECISIONS

FLAGS = flags.FLAGS
SENTENCES, LENGTH, VOCAB_SIZE = 128, 32, 16_000


def case(optimizer, precision):
    """A step as the trainer takes it, up to its loss."""
    from benchmarks import ROOT
    from benchmarks.timing import Case
    from tta.choices import DTYPE_POLICIES
    from tta.modeling.config.base import read_config
    from tta.modeling.models.language_model import LanguageModel
    from tta.modeling.objectives.language_model import LanguageAutoencoding
    from tta.modeling.training.config import OPTIMIZERS
    from tta.modeling.training.steps import connect

    config = read_config(ROOT / "configs/small.json", vocab_size=VOCAB_SIZE)
    model = LanguageModel(config, dtype=DTYPE_POLICIES[precision])
    made = OPTIMIZERS.load(optimizer)(1e-6, product_dtype=precision)
    made.build(model.trainable_variables)
    ids = np.random.default_rng(0).integers(5, VOCAB_SIZE, (SENTENCES, LENGTH)).astype(np.int32)
    batch, spec, steps = (
        {"input_ids": ids, "padding_mask": np.ones(ids.shape, bool)},
        None,
        connect(),
    )
    if not steps.in_memory:
        spec = importlib.import_module("benchmarks.training_cases").SPEC
    update = steps.update(model, made, LanguageAutoencoding(), spec)
    return Case(f"{optimizer} {precision}", lambda: float(update([batch], 0, False)[0]["loss"]))


def main(_):
    import keras

    from benchmarks.timing import interleave

    cases = [case(name, precision) for name in ("adamw", "muon") for precision in FLAGS.precisions]
    for name, times in interleave(cases, FLAGS.rounds).items():
        rate = SENTENCES * LENGTH / min(times.seconds)
        print(f"{keras.config.backend():12}{name:20}{rate:10,.0f} tokens/s")


def define_flags():
    """Defines the flags. Tests import this file beside benchmarks with flags of the same names."""
    flags.DEFINE_list("precisions", list(PRECISIONS), "Types of matrix products.")
    flags.DEFINE_integer("rounds", 5, "Number of rounds.", lower_bound=1)


if __name__ == "__main__":
    define_flags()
    app.run(main)
