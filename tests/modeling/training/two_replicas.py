"""What needs a process with two CPU devices: prints "ok NAME" for each check that holds.

    python two_replicas.py CONFIG OUTPUT.npz [NAME ...]

CONFIG is a `PretrainingConfig` in JSON. Its run on the two devices saves its variables in the file.
TensorFlow takes the number of devices before anything else, and one strategy a process.
"""

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.checks import run_checks
from tests.modeling.tiny import tiny_config
from tests.modeling.training.saved_variables import saving
from tests.tiny_dataset import (
    MAX_LENGTH,
    sentences,
    sentences_of_few_lengths,
    write_shard,
)
from tta.data.records.features import DEFAULT_FEATURES
from tta.data.records.pipeline import train_batches
from tta.errors import InputError
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.language_model import LanguageAutoencoding
from tta.modeling.training import assembly
from tta.modeling.training.config import LoopSettings, PretrainingConfig
from tta.modeling.training.optimizers import BertAdamW, Muon, WarmupLinearDecay
from tta.modeling.training.pretrain import pretrain
from tta.modeling.training.steps import tensorflow as distribution
from tta.modeling.training.steps.tensorflow import (
    TensorFlowSteps,
    make_strategy,
    own_random_numbers,
)
from tta.modeling.training.trainer import Trainer

ONE = tf.distribute.get_strategy()


def copies(variable):
    """[L, ...]: a variable as each replica has it."""
    return np.stack([v.numpy() for v in TWO.experimental_local_results(variable.value)])


def pairs_merged(batches):
    """Batches 2 i and 2 i + 1 as one, padded to the longer; a last one alone is left out."""

    def merge(*pair):
        width = max(batch["input_ids"].shape[1] for batch in pair)
        return {
            name: np.concatenate(
                [np.pad(b[name], [[0, 0], [0, width - b[name].shape[1]]]) for b in pair]
            )
            for name in pair[0]
        }

    def merged():
        each = batches.as_numpy_iterator()
        yield from map(merge, each, each)

    return tf.data.Dataset.from_generator(merged, output_signature=batches.element_spec)


class Counting(LanguageAutoencoding):
    """Keeps two numbers that are not the state of a random generator: no step may change them."""

    def __init__(self):
        super().__init__()
        self.number = keras.Variable([3, 4], dtype="int64", trainable=False, name="number")
        self.variables = [self.number]

    def task(self, batch, step):
        tf.debugging.assert_equal(self.number.value, tf.constant([3, 4], tf.int64))
        return super().task(batch, step)


def tta():
    return LanguageModel(tiny_config(num_hidden_layers=1)), Counting()


def trained(
    strategy, optimizer, folder, arrange=lambda batches: batches, shard="shard", steps=5, make=tta
):
    """A trainer after five steps: over two epochs of five batches and into a third."""
    keras.utils.set_random_seed(0)
    with strategy.scope():
        model, objective = make()
        # A rate and a decay that matter in few steps; every gradient is larger than the norm.
        rate = WarmupLinearDecay(1e-2, 2, steps)
        optimizer = optimizer(rate, weight_decay=0.3, global_clipnorm=0.1)
    trainer = Trainer(
        model,
        optimizer,
        objective,
        lambda epoch: arrange(
            train_batches([f"{FOLDER}/{shard}"], DEFAULT_FEATURES, 100, MAX_LENGTH, 0, 0, epoch)
        ),
        None,
        f"{FOLDER}/{folder}",
        LoopSettings(num_train_steps=steps),
        TensorFlowSteps(strategy),
    )
    assert trainer.train()
    return trainer


def two_replicas_equal_one_with_their_batches():
    write_shard(f"{FOLDER}/shard", sentences_of_few_lengths())
    two = trained(TWO, Muon, "two")
    one = trained(ONE, Muon, "one", pairs_merged)
    for name in ("step", "epoch", "tokens"):
        assert two.position[name] == one.position[name], name
    assert [two.position[name] for name in ("epoch", "batch")] == [2, 2]  # 2 + 2 + 1 steps
    np.testing.assert_array_equal(copies(two.objective.number), [[3, 4], [3, 4]])
    wanted = one.model.named_weights()
    for name, weight in two.model.named_weights().items():
        values = copies(weight)
        np.testing.assert_array_equal(values[0], values[1], err_msg=name)
        np.testing.assert_allclose(values[0], wanted[name], atol=1e-5, err_msg=name)


def optimizers_take_sums_as_they_are():
    # Of epsilon's size: both optimizers forget a factor that is common to larger ones.
    gradients = 1e-6 * np.random.default_rng(0).normal(size=(4, 3, 5)).astype(np.float32)
    for make in (BertAdamW, Muon):
        ends = []
        for strategy in (TWO, ONE):
            with strategy.scope():
                weight = keras.Variable(np.ones((3, 5), np.float32), name="kernel")
                optimizer = make(0.1, weight_decay=0.3, global_clipnorm=1.0)
                optimizer.build([weight])

            def step(gradient, weight=weight, optimizer=optimizer):
                optimizer.apply_gradients([(gradient, weight)])
                return gradient

            steps = tf.function(lambda g, run=strategy.run, step=step: run(step, [g]))
            for gradient in gradients:
                steps(gradient)
            ends.append(weight)
        for values in copies(ends[0]):
            np.testing.assert_allclose(values, ends[1].numpy(), atol=1e-6, err_msg=make.__name__)


def replicas_draw_numbers_of_their_own_and_keep_one_state():
    with TWO.scope():
        seed = keras.random.SeedGenerator(7)

    @tf.function(autograph=False)
    def draw():
        def drawn():
            with own_random_numbers([seed.state]):
                return keras.random.uniform([3], seed=seed)

        return TWO.run(drawn)

    draws = [np.stack(TWO.experimental_local_results(draw())) for _ in range(2)]
    alone = keras.random.SeedGenerator(7)
    for numbers in draws:
        assert not np.isclose(numbers[0], numbers[1]).any()
        # The first replica's are those of training on one device.
        np.testing.assert_array_equal(numbers[0], keras.random.uniform([3], seed=alone))
    np.testing.assert_array_equal(copies(seed.state), [[7, 2], [7, 2]])


def an_epoch_with_fewer_batches_than_replicas_is_refused():
    write_shard(f"{FOLDER}/short", sentences(2)[:1])
    with pytest.raises(InputError, match="holds no batch for each of 2 replicas"):
        trained(TWO, BertAdamW, "short_out", shard="short")


def pretrain_trains_on_both_devices():
    assembly.make_trainer = saving(assembly.make_trainer, OUTPUT)
    distribution.make_strategy = lambda name: TWO
    assert pretrain(PretrainingConfig(**json.loads(CONFIG))).finished


if __name__ == "__main__":
    _, CONFIG, OUTPUT, *NAMES = sys.argv
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
    TWO = make_strategy("mirrored")
    assert TensorFlowSteps(TWO).replicas == [0, 1]
    with tempfile.TemporaryDirectory() as FOLDER:
        checks = (
            two_replicas_equal_one_with_their_batches,
            optimizers_take_sums_as_they_are,
            replicas_draw_numbers_of_their_own_and_keep_one_state,
            an_epoch_with_fewer_batches_than_replicas_is_refused,
            pretrain_trains_on_both_devices,  # the last one, because it is deterministic
        )
        run_checks(checks, NAMES)
