"""What needs a process with Keras's backend JAX: prints "ok NAME" for each check that holds.

    KERAS_BACKEND=jax python jax_process.py FOLDER [NAME ...]

FOLDER has the data set `data` and the config `config.json`; runs are written beside them.
TensorFlow is out of reach.
"""

import json
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
if __name__ == "__main__":
    sys.modules["tensorflow"] = None  # pyright: ignore[reportArgumentType]

import keras
import numpy as np
import pytest

from tests.checks import run_checks
from tta.data.records.arrays import ArrayBatches
from tta.data.records.features import ModelInputs
from tta.errors import InputError
from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.formats.run_checkpoint import checkpoint_steps, read_checkpoint
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.language_model import LanguageAutoencoding
from tta.modeling.training.config import LoopSettings, OptimizerSettings, PretrainingConfig
from tta.modeling.training.optimizers import BertAdamW, make_optimizer
from tta.modeling.training.pretrain import pretrain
from tta.modeling.training.steps import connect
from tta.modeling.training.trainer import Trainer
from tta.names import STANDARDIZATION

STEPS = 200


def sentences(count, seed, lengths):
    """Runs of the alphabet: ids [N] and lengths [S], as `read_split` has them."""
    rng, found = np.random.default_rng(seed), []
    for length in rng.choice(lengths, count):
        letters = rng.integers(18) + rng.choice([-1, 1]) * np.arange(length)
        found.append([3, *(5 + letters % 18), 1])
    return np.concatenate(found).astype(np.uint16), np.array([len(one) for one in found])


def make_trainer(folder, steps=None, num_steps=STEPS, rows=8, read=lambda batches: batches):
    """A trainer with the same seed, batches and settings on each backend."""
    # XLA compiles for each padded length, on each device: all are padded to 12 tokens.
    train, heldout = sentences(120, 0, [4, 10]), sentences(40, 1, [10])

    def batches(found, seed=None):
        return read(ArrayBatches(*found, 100, rows, 17, 0, ModelInputs({}), seed))

    config = TransformerConfig(
        vocab_size=23,
        hidden_size=15,
        num_hidden_layers=1,
        num_attention_heads=3,
        intermediate_size=17,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        max_position_embeddings=19,
    )
    steps = steps or connect()
    keras.utils.set_random_seed(0)
    with steps.scope():
        model = LanguageModel(config)
        settings = OptimizerSettings(
            num_train_steps=STEPS,
            num_warmup_steps=10,
            num_decay_steps=50,
            learning_rate=1e-2,
            optimizer="muon",
        )
        optimizer = make_optimizer(settings, "float32")
    return Trainer(
        model,
        optimizer,
        LanguageAutoencoding(),
        lambda epoch: batches(train, (0, epoch)),
        lambda: batches(heldout),
        folder,
        LoopSettings(num_train_steps=num_steps),
        steps,
    )


def it_learns_as_expected():
    """Prints the held-out nll, which the test compares."""
    trainer = make_trainer(FOLDER / "equal")
    assert trainer.train()
    print("nll", trainer.last_evaluation.values["nll"])


def two_devices_equal_one_with_their_batches():
    two = make_trainer(FOLDER / "two", connect("mirrored"), 5, rows=4)
    one = make_trainer(FOLDER / "one", connect(), 5)
    assert two.steps.num_replicas == 2
    for trainer in (one, two):
        assert trainer.train()
    assert two.position == one.position | {"batch": 2 * one.position["batch"]}
    wanted = one.model.named_weights()
    for name, weight in two.model.named_weights().items():
        assert len(weight.value.sharding.device_set) == 2, name
        np.testing.assert_allclose(weight, wanted[name], atol=1e-5, err_msg=name)


class Killed(BaseException):
    """Ends a run as SIGKILL does: nothing is saved."""


def settings(folder, name, **changes):
    """The settings of a run in `folder / name`."""
    values = {
        "input_dir": str(folder / "data"),
        "config_file": str(folder / "config.json"),
        "output_dir": str(folder / name),
        "optimizer": "muon",
        "num_train_steps": 23,
        "num_warmup_steps": 5,
        "train_batch_tokens": 100,
        "learning_rate": 1e-2,
        "save_checkpoints_steps": 7,
    }
    return PretrainingConfig(**values | changes)


def run(name, killed_after=None, **changes):
    """Trains in a folder of its own; killed after a step, if that comes."""

    def batches(self, until, given=Trainer._batches):
        for batch in given(self, until):
            if self.step == killed_after:
                raise Killed
            yield batch

    before, Trainer._batches = Trainer._batches, batches
    try:
        return pretrain(settings(FOLDER, name, **changes))
    finally:
        Trainer._batches = before


def a_run_writes_its_model():
    result = run("whole")
    assert (result.finished, result.directory, result.step) == (True, FOLDER / "whole", 23)
    assert json.loads((FOLDER / "whole/run.json").read_text())["backend"] == "jax"
    assert "KERAS_BACKEND=jax run_pretraining.py" in (FOLDER / "whole/README.md").read_text()


def a_killed_and_resumed_run_ends_with_the_same_bits():
    try:
        run("killed", killed_after=10)
    except Killed:
        assert checkpoint_steps(FOLDER / "killed/checkpoints") == [7]
        shutil.copytree(FOLDER / "killed", FOLDER / "unfinished")
        keras.utils.set_random_seed(7)  # as in another process
        assert run("killed").finished
    for step in (21, 23):
        path = f"checkpoints/ckpt-{step}.safetensors"
        whole, killed = (read_checkpoint(FOLDER / name / path) for name in ("whole", "killed"))
        assert whole.keys() == killed.keys()
        assert any("seed_generator" in name for name in whole)
        for name, array in whole.items():
            np.testing.assert_array_equal(killed[name], array, err_msg=name)
    records = ((FOLDER / name / STANDARDIZATION).read_bytes() for name in ("whole", "killed"))
    assert len(set(records)) == 1


def what_jax_cannot_do_is_refused():
    rule = "^distribution_strategy multi_worker_mirrored needs KERAS_BACKEND=tensorflow$"
    with pytest.raises(InputError, match=rule):
        run("refused", distribution_strategy="multi_worker_mirrored")
    assert not (FOLDER / "refused").exists()


def the_first_step_of_adamw_is_not_bias_corrected():
    weight = keras.Variable(np.zeros(3, np.float32), name="kernel")
    BertAdamW(0.01).apply_gradients([(np.array([1.0, -2.0, 0.5], np.float32), weight)])
    step = 0.01 * 0.1 / np.sqrt(0.001)
    np.testing.assert_allclose(weight, [-step, step, -step], rtol=1e-3)


CHECKS = (
    it_learns_as_expected,
    two_devices_equal_one_with_their_batches,
    a_run_writes_its_model,
    a_killed_and_resumed_run_ends_with_the_same_bits,
    what_jax_cannot_do_is_refused,
    the_first_step_of_adamw_is_not_bias_corrected,
)

if __name__ == "__main__":
    FOLDER = Path(sys.argv[1])
    run_checks(CHECKS, sys.argv[2:])
