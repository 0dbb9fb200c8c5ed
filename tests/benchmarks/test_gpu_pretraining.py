"""Pretraining by JAX: its files, its batches, and its optimizer beside the one of TensorFlow."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import gpu_pretraining
from benchmarks.gpu_pretraining import LENGTHS, batches, by_muon, learning_rate, read_packed
from tests.tiny_dataset import sentences as letters
from tests.tiny_dataset import write_dataset
from tta.errors import InputError


@pytest.fixture
def flags(monkeypatch):
    """Sets the flags that a test needs."""

    def given(**values):
        monkeypatch.setattr(gpu_pretraining, "FLAGS", SimpleNamespace(**values))

    return given


def sentences(rng, number=200):
    lengths = rng.integers(3, 60, number)
    return rng.integers(5, 16_000, lengths.sum()).astype(np.uint16), lengths


def rows_of(found):
    return sorted(
        tuple(row[:n]) for rows, counts in found for row, n in zip(rows, counts, strict=True) if n
    )


def test_batches_without_an_order_hold_every_sentence_once():
    ids, lengths = sentences(np.random.default_rng(0))
    expected = np.split(ids.astype(np.int32), np.cumsum(lengths)[:-1])
    found = list(batches(ids, lengths, 256))
    assert rows_of(found) == sorted(map(tuple, expected))
    for rows, counts in found:
        assert rows.shape in {(256 // length, length) for length in LENGTHS}
        assert counts.max() <= rows.shape[1]


def test_training_batches_are_full_and_in_an_order_of_the_generator():
    ids, lengths = sentences(np.random.default_rng(0))
    first, again, other = (
        list(batches(ids, lengths, 256, np.random.default_rng(s))) for s in (1, 1, 2)
    )
    for (rows, counts), (same, _) in zip(first, again, strict=True):
        np.testing.assert_array_equal(rows, same)
        assert counts.all()
    assert any(a[0].shape != b[0].shape for a, b in zip(first, other, strict=False))
    assert len(rows_of(first)) == len(set(rows_of(first)))


def test_packed_files_hold_the_sentences_of_the_shards(tmp_path, flags):
    folder = write_dataset(tmp_path / "set", letters(120), letters(10, seed=1))
    flags(input_dir=str(folder), packed_dir=str(tmp_path / "packed"), num_parts=1)
    gpu_pretraining.pack()
    ids, lengths = read_packed(tmp_path / "packed" / "train-0.ids.xz")
    shards = sorted(folder.glob("train-*.tfrecord"))
    expected_ids, expected_lengths = gpu_pretraining.read_shards(shards)
    np.testing.assert_array_equal(ids, expected_ids)
    np.testing.assert_array_equal(lengths, expected_lengths)
    assert (tmp_path / "packed" / "vocab.txt").exists()


@pytest.mark.parametrize("name", ["max_seq_length", "vocab_size"])
def test_what_does_not_fit_is_refused(tmp_path, flags, name):
    folder = write_dataset(tmp_path / "set", letters(9), letters(9, seed=1))
    info = json.loads((folder / "dataset.json").read_text())
    info[name] = {"max_seq_length": 129, "vocab_size": 65_537}[name]
    (folder / "dataset.json").write_text(json.dumps(info))
    flags(input_dir=str(folder), packed_dir=str(tmp_path / "packed"), num_parts=1)
    with pytest.raises(InputError, match=r"set: .* (129|65537) tokens, at most (128|65536) fit"):
        gpu_pretraining.pack()
    assert not (tmp_path / "packed").exists()


def test_the_rate_rises_stays_and_falls(flags):
    flags(num_train_steps=100, num_warmup_steps=10, decay_fraction=0.2, learning_rate=0.5)
    rates = [learning_rate(step) for step in (0, 9, 50, 80, 90, 99)]
    np.testing.assert_allclose(rates, [0.05, 0.5, 0.5, 0.5, 0.25, 0.025])


@pytest.mark.parametrize(("path", "shape"), [("encoder/query/kernel", (6, 4)), ("head/bias", (5,))])
def test_the_optimizer_is_that_of_tensorflow(path, shape, flags):
    import keras

    from tta.modeling.training.optimizers import Muon

    rng = np.random.default_rng(0)
    start = rng.normal(size=shape).astype(np.float32)
    variable = keras.Variable(start, name=path.rsplit("/", 1)[-1])
    muon = Muon(0.01, weight_decay=0.1, global_clipnorm=None, product_dtype="bfloat16")
    muon.build([variable])
    moments = tuple(np.zeros(shape, np.float32) for _ in range(1 if by_muon(path, shape) else 2))
    weight = start
    flags(weight_decay=0.1)
    for step in range(3):
        gradient = rng.normal(size=shape).astype(np.float32)
        muon.apply([keras.ops.convert_to_tensor(gradient)])
        weight, moments = gpu_pretraining.updated(
            path, weight, moments, gradient, np.float32(0.01), np.float32(step + 1)
        )
    assert not np.allclose(weight, start, atol=1e-3)
    np.testing.assert_allclose(weight, variable.numpy(), atol=2e-5)


@pytest.mark.slow
def test_a_trained_model_is_finished_with_the_same_held_out_result(tmp_path):
    folder = write_dataset(tmp_path / "set", letters(120), letters(10, seed=1))
    program = [sys.executable, "-m", "benchmarks.gpu_pretraining"]
    flags = [f"--packed_dir={tmp_path / 'packed'}", "--config_file=configs/tiny.json"]
    flags += [f"--input_dir={folder}", f"--weights_file={tmp_path / 'weights.npz'}"]
    flags += [f"--output_dir={tmp_path / 'model'}", "--num_train_steps=3", "--num_warmup_steps=1"]
    flags += ["--train_batch_tokens=128"]
    printed = {}
    for command in ("pack", "train", "finish"):
        backend = {"KERAS_BACKEND": "jax" if command == "train" else "tensorflow"}
        done = subprocess.run(
            [*program, command, *flags],
            env=os.environ | backend | {"JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        printed[command] = done.stdout
    nll = float(printed["train"].split("held-out nll ")[1].split(",")[0])
    assert nll == pytest.approx(float(printed["finish"].split("nll ")[1].split(" ")[0]), abs=0.01)
    assert (tmp_path / "model" / "model.weights.h5").exists()
