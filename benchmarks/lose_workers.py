"""Trains with several workers, kills one worker after the other, and compares the result.

    python -m benchmarks.lose_workers --losses=10

The command makes two runs. One is uninterrupted. In the other, a random worker receives SIGKILL or
SIGTERM, alternately, at a random moment after a new checkpoint; then all workers are started again.
It prints how each loss ended, and the largest difference between the weights of the two models. All
workers are processes on this machine; model and data are tiny.
"""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from absl import app, flags

from benchmarks import ROOT
from benchmarks.faults import commands
from tta.modeling.formats.run_checkpoint import CHECKPOINTS, checkpoint_steps

FLAGS = flags.FLAGS
flags.DEFINE_integer("losses", 10, "Number of lost workers.", lower_bound=1)
flags.DEFINE_integer("workers", 2, "Number of workers.", lower_bound=2)
flags.DEFINE_integer("num_train_steps", 1000, "Steps in all.", lower_bound=11)
flags.DEFINE_integer("seed", 0, "Seed of the choice of worker and moment.", lower_bound=0)


def start(folder, output):
    """Starts all workers on free ports and returns their processes."""
    sockets = [socket.socket() for _ in range(FLAGS.workers)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    command = [sys.executable, *json.loads((folder / "command").read_text())]
    command += [f"--output_dir={folder / output}", f"--num_train_steps={FLAGS.num_train_steps}"]
    command += ["--distribution_strategy=multi_worker_mirrored"]
    processes = []
    for i in range(FLAGS.workers):
        task = {"type": "worker", "index": i}
        workers = {"TF_CONFIG": json.dumps({"cluster": {"worker": addresses}, "task": task})}
        with open(folder / f"{output}.{i}.err", "ab") as err:
            streams = {"stdout": subprocess.DEVNULL, "stderr": err}
            one = subprocess.Popen(command, cwd=ROOT, env=os.environ | workers, **streams)
        processes.append(one)
    return processes


def last_checkpoint(folder):
    """The step of the last checkpoint, or 0."""
    return max(checkpoint_steps(folder / CHECKPOINTS), default=0)


def lose_one(folder, output, rng, number):
    """Starts all workers, kills one, and prints how all ended."""
    processes = start(folder, output)
    before = last_checkpoint(folder / output)
    while last_checkpoint(folder / output) == before:
        if any(process.poll() is not None for process in processes):
            raise SystemExit(f"a worker ended early: {errors(folder, output)}")
        time.sleep(0.01)
    time.sleep(rng.uniform(0.0, 0.5))
    victim = rng.randrange(FLAGS.workers)
    how = signal.SIGTERM if number % 2 else signal.SIGKILL
    processes[victim].send_signal(how)
    began = time.monotonic()
    ends = [process.wait() for process in processes]
    print(
        f"loss {number}: {how.name} to worker {victim} after step {before}; exit statuses {ends} "
        f"{time.monotonic() - began:.1f} s later; last checkpoint "
        f"{last_checkpoint(folder / output)}",
        flush=True,
    )


def finish(folder, output):
    """Starts all workers and waits until they end."""
    ends = [process.wait() for process in start(folder, output)]
    if any(ends):
        raise SystemExit(f"exit statuses {ends}: {errors(folder, output)}")


def errors(folder, output):
    """The standard error of the workers from all their starts."""
    return "".join(path.read_text() for path in sorted(folder.glob(f"{output}.*.err")))


def weights(folder):
    """{name: array} of a model directory."""
    from tta.modeling.formats.model_directory import load_model

    return {n: np.asarray(v) for n, v in load_model(folder).named_weights().items()}


def main(_):
    rng = random.Random(FLAGS.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "command").write_text(json.dumps(commands.train(folder)))
        finish(folder, "uninterrupted")
        for number in range(FLAGS.losses):
            lose_one(folder, "interrupted", rng, number)
        finish(folder, "interrupted")
        one, other = weights(folder / "uninterrupted"), weights(folder / "interrupted")
        difference = max(float(np.abs(one[n] - other[n]).max()) for n in one)
        print(f"largest difference between the weights of the two runs: {difference:.3g}")


if __name__ == "__main__":
    app.run(main)
