"""Training on several devices, and on several workers one of which is killed.

Two devices of one process and two processes of one device each are the same two replicas: they must
end with the same weights. two_replicas.py holds two replicas against one.
"""

import json
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.commands import environment
from tests.faults import assert_killed
from tests.modeling.tiny import tiny_config, training_config
from tests.tiny_dataset import sentences, sentences_of_few_lengths, write_dataset
from tta.errors import InputError
from tta.modeling.training import cluster, run_record
from tta.modeling.training.steps import tensorflow as distribution

pytestmark = pytest.mark.tensorflow

ROOT = Path(__file__).resolve().parents[3]
NUM_STEPS = 11
SETTINGS = {
    "num_train_steps": NUM_STEPS,
    "num_warmup_steps": 3,
    "train_batch_tokens": 100,
    "learning_rate": 1e-2,
    "save_checkpoints_steps": 4,
    "eval_steps": 9,
    "deterministic": True,
}


def tf_config(index, workers):
    return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of 5 batches an epoch, and the config of a model with dropout."""
    folder = tmp_path_factory.mktemp("distribution")
    write_dataset(folder / "data", sentences_of_few_lengths(), sentences(20, seed=1))
    tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.2).to_json(folder / "config.json")
    return folder


def settings(folder, output, strategy):
    return SETTINGS | {
        "input_dir": str(folder / "data"),
        "config_file": str(folder / "config.json"),
        "output_dir": str(folder / output),
        "distribution_strategy": strategy,
    }


@pytest.fixture(scope="module")
def replicas(folder):
    """{name of a check in two_replicas.py: how it ended}.

    The last one leaves the variables of an undisturbed run on two devices in devices.npz.
    """
    script = str(ROOT / "tests/modeling/training/two_replicas.py")
    run = json.dumps(settings(folder, "output_devices", "mirrored"))
    ended = subprocess.run(
        [sys.executable, script, run, str(folder / "devices.npz")],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    lines = [line.split(" ", 2) for line in ended.stdout.splitlines()]
    assert lines, ended.stderr
    return {line[1]: line for line in lines}


@pytest.mark.parametrize(
    "check",
    [
        "two_replicas_equal_one_with_their_batches",
        "optimizers_take_sums_as_they_are",
        "replicas_draw_numbers_of_their_own_and_keep_one_state",
        "an_epoch_with_fewer_batches_than_replicas_is_refused",
        "pretrain_trains_on_both_devices",
    ],
)
@pytest.mark.slow
def test_replicas(replicas, check):
    assert replicas[check] == ["ok", check]


def start(folder, name, output, last_step=-1, **more):
    """Starts a worker; its streams go to `<name>.out` and `<name>.err`.

    It is killed after `last_step`, if that comes.
    """
    script = str(ROOT / "tests/modeling/training/pretraining_process.py")
    values = settings(folder, output, "multi_worker_mirrored")
    flags = [f"--{key}={str(v).lower() if v is True else v}" for key, v in values.items()]
    with open(folder / f"{name}.err", "wb") as err, open(folder / f"{name}.out", "wb") as out:
        return subprocess.Popen(
            [sys.executable, script, str(last_step), str(folder / f"{name}.npz"), *flags],
            stdout=out,
            stderr=err,
            env=environment(**more),
        )


def start_workers(folder, name, last_step=-1):
    """Two workers on free ports. Worker 1 has its own folder, in which it must write nothing.

    Worker 1 is killed after `last_step`, if that comes.
    """
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        addresses = [f"127.0.0.1:{free.getsockname()[1]}" for free in (one, other)]
    return [
        start(
            folder,
            f"{name}{i}",
            f"output{i}",
            last_step=last_step if i == 1 else -1,
            TF_CONFIG=tf_config(i, addresses),
        )
        for i in range(2)
    ]


@pytest.fixture(scope="module")
def runs(folder):
    """Two workers of which the second is killed, and the two again."""
    started = []
    try:
        # A checkpoint is written every 4 steps.
        workers = start_workers(folder, "killed", last_step=5)
        started += workers
        assert_killed(workers[1], folder / "killed1.err")
        survivor = workers[0].wait(timeout=600)
        assert (folder / "output0" / "checkpoints" / "ckpt-4.safetensors").exists()
        assert not (folder / "output0" / "model.weights.h5").exists()

        again = start_workers(folder, "again")
        started += again
        for i, worker in enumerate(again):
            assert worker.wait(timeout=600) == 0, (folder / f"again{i}.err").read_text()
    finally:
        for process in started:
            process.kill()
            process.wait()
    return survivor


@pytest.mark.slow
def test_a_worker_that_lost_another_says_so_in_one_line_and_fails(runs, folder):
    text = (folder / "killed0.err").read_text().replace("\r", "\n")
    last = text.rstrip("\n").splitlines()[-1]
    assert last.startswith(
        "error: another worker stopped or cannot be reached; repeat the command on all workers to "
        "resume from the last checkpoint ("
    )
    assert "Traceback" not in text
    assert runs == 1


@pytest.mark.slow
def test_workers_end_with_the_same_weights_as_each_other(runs, folder):
    workers = [np.load(folder / f"again{i}.npz") for i in range(2)]
    assert set(workers[0]) == set(workers[1])
    assert workers[0]["step"] == NUM_STEPS
    assert any("seed_generator" in name for name in workers[0])
    for name in workers[0].files:
        np.testing.assert_array_equal(workers[0][name], workers[1][name], err_msg=name)


@pytest.mark.slow
def test_workers_end_with_the_weights_of_an_undisturbed_run(runs, replicas, folder):
    worker, devices = np.load(folder / "again0.npz"), np.load(folder / "devices.npz")
    assert set(devices) == set(worker)
    for name in devices.files:
        if devices[name].ndim == 0:  # where the run stands, which has no copies
            assert devices[name] == worker[name], name
            continue
        for copy in devices[name]:
            np.testing.assert_allclose(worker[name][0], copy, atol=1e-5, err_msg=name)


@pytest.mark.slow
def test_workers_go_on_from_the_checkpoint(runs, folder):
    bars = (folder / "again0.err").read_text()
    assert f"/{NUM_STEPS} [" in bars
    assert f" 0/{NUM_STEPS} [" not in bars


@pytest.mark.slow
def test_the_chief_alone_writes_and_reads(runs, folder):
    assert not (folder / "output1").exists()
    assert {path.name for path in (folder / "output0").iterdir()} == {
        *("checkpoints", "logs", "run.json"),
        *("config.json", "vocab.txt", "model.weights.h5", "README.md"),
        "standardization.safetensors",
    }
    assert (folder / "again0.out").read_text() == f"{folder / 'output0'}\n"
    assert (folder / "again1.out").read_text() == (folder / "again1.err").read_text() == ""
    assert "held-out nll" in (folder / "again0.err").read_text()
    assert json.loads((folder / "output0/run.json").read_text())["num_replicas"] == 2


GOOD = ["one:1", "other:1"]


@pytest.mark.parametrize(
    ("text", "index"),
    [
        (tf_config(0, GOOD), 0),
        (tf_config(1, GOOD), 1),
        (tf_config(0, ["[::1]:65535"]), 0),
        ("", None),
        ("{", None),
        ("[]", None),
        (tf_config(2, GOOD), None),  # the list has no such worker
        (tf_config(True, GOOD), None),
        (tf_config("1", GOOD), None),
        (tf_config(0, []), None),
        (tf_config(0, ["one:1", "one:1"]), None),  # two workers on one port
        (tf_config(0, ["one"]), None),  # no port
        (tf_config(0, ["one:65536"]), None),
        (tf_config(0, GOOD).replace('"type": "worker"', '"type": "ps"'), None),
        (tf_config(0, GOOD).replace('{"worker": [', '{"ps": ["a:1"], "worker": ['), None),
    ],
)
def test_tf_config_is_read_or_refused(text, index):
    if index is not None:
        assert cluster.worker_index(text) == index
        return
    with pytest.raises(InputError, match="TF_CONFIG must be ") as error:
        cluster.worker_index(text)
    assert str(error.value).endswith(f", not {text or 'empty'}")


def test_tf_config_is_read_for_several_workers_alone(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", tf_config(1, GOOD))
    assert cluster.is_chief("one_device")
    assert cluster.is_chief("mirrored")
    assert not cluster.is_chief("multi_worker_mirrored")


class TwoWorkers:
    """A strategy whose other worker has what `other` says."""

    def __init__(self, other):
        self.other = other

    def run(self, function):
        return function()

    def reduce(self, op, value, axis):
        return value + distribution.digest(self.other)


def test_workers_that_were_not_started_alike_are_refused():
    steps = distribution.TensorFlowSteps()
    steps.num_replicas = 2
    steps.strategy = TwoWorkers("a")
    steps.check_same("flags", "a")
    steps.strategy = TwoWorkers("b")
    with pytest.raises(InputError, match="flags must be the same on all workers"):
        steps.check_same("flags", "a")


def test_another_number_of_replicas_is_reported(tmp_path, capsys):
    config = training_config(output_dir=str(tmp_path))
    run_record.record(config, 2)
    run_record.record(config, 2)
    assert capsys.readouterr().err == ""
    run_record.record(config, 3)
    assert "began with 2 replicas and resumes with 3" in capsys.readouterr().err
    (tmp_path / "run.json").write_text("{}")  # of a run that is older than this entry
    run_record.record(config, 1)
    assert capsys.readouterr().err == ""
