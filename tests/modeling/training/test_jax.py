"""Training on Keras's backend JAX: it learns as TensorFlow does, and resumes to the bit."""

import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.commands import environment
from tests.modeling.tiny import dataset, tiny_config
from tests.modeling.training import jax_process
from tests.tiny_dataset import MAX_LENGTH, sentences, write_dataset
from tta.data.records.features import DEFAULT_FEATURES
from tta.data.records.pipeline import eval_batches
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model
from tta.modeling.objectives.language_model import LanguageAutoencoding
from tta.modeling.training.evaluation import Evaluator
from tta.modeling.training.pretrain import pretrain

pytestmark = pytest.mark.tensorflow

# After 200 steps, on both backends. An optimizer, a schedule or batches that change, change it.
NLL = 1.7578


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jax")
    # XLA compiles for each shape: all are padded to one length, and the held-out ones have one.
    train = [one for one in sentences(300) if len(one) in (6, 12)]
    write_dataset(folder / "data", train, [one for one in train if len(one) == 6])
    config = tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.2)
    config.to_json(folder / "config.json")
    return folder


@pytest.fixture(scope="module")
def process(folder):
    """{the first word after "ok", "failed" or "nll", or the name of a check: its line}."""
    flags = "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0"
    cache = {"JAX_COMPILATION_CACHE_DIR": str(folder / "cache")}
    cache |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    ended = subprocess.run(
        [sys.executable, jax_process.__file__, str(folder)],
        capture_output=True,
        text=True,
        env=environment(KERAS_BACKEND="jax", JAX_PLATFORMS="cpu", XLA_FLAGS=flags, **cache),
        check=False,
    )
    lines = [line.split(" ", 2) for line in ended.stdout.splitlines()]
    assert lines, ended.stderr
    return {line[0] if line[0] == "nll" else line[1]: line for line in lines}


@pytest.mark.parametrize("check", [check.__name__ for check in jax_process.CHECKS])
def test_jax(process, check):
    assert process[check] == ["ok", check]


def test_both_backends_learn_the_same(process, tmp_path):
    trainer = jax_process.make_trainer(tmp_path, read=dataset)
    assert trainer.train()
    found = trainer.last_evaluation.values["nll"], float(process["nll"][1])
    print("nll after 200 steps:", found)
    np.testing.assert_allclose(found, NLL, atol=5e-4)


def test_tensorflow_reads_the_model_and_its_checkpoints(process, folder, capsys):
    model = load_model(folder / "whole")
    batches = eval_batches(
        [str(folder / "data/heldout-00000-of-00001.tfrecord")], DEFAULT_FEATURES, 100, MAX_LENGTH, 0
    )
    objective = LanguageAutoencoding()
    measured = Evaluator(model, objective, batches.element_spec)(batches)
    assert f"Held-out: {measured.text[:9]}" in (folder / "whole/README.md").read_text()
    load_model(folder / "unfinished")
    assert "using the checkpoint of step 7\n" in capsys.readouterr().err
    tags = {
        value.tag
        for path in (folder / "whole/logs").iterdir()
        for record in tf.data.TFRecordDataset(str(path))
        for value in tf.compat.v1.Event.FromString(record.numpy()).summary.value
    }
    assert {"train/loss", "heldout/nll"} <= tags


def test_a_run_does_not_resume_on_the_other_backend(process, folder):
    config = jax_process.settings(folder, "unfinished")
    with pytest.raises(
        InputError, match=r"run\.json: this run began with another backend of Keras"
    ):
        pretrain(config)
