"""Trains several models on a GPU machine that is lent for minutes, with limits on files.

    python -m benchmarks.half_hour mix --data=single,merged --output_dir=mixed
    python -m benchmarks.half_hour pack --data=single,mixed --pieces=carried
    python -m benchmarks.half_hour unpack --pieces=carried --work_dir=work
    python -m benchmarks.half_hour run --work_dir=work --seconds=570
    python -m benchmarks.half_hour bring --work_dir=work --part=0 --output_dir=out

`mix` and `pack` are for your machine, `run` and `bring` for the lent one; `unpack` puts the pieces
of both together. `run` does what is left of a plan: each run is flags of `tta
pretrain`, on Keras's JAX backend. Runs of one group go side by side, groups one after another. The
same command goes on. It exits with status 0 when all is done, and with 143 when steps are left.

The plan is JSON: "flags" of all runs, and "runs", each with a "name", a "group", "steps" or
"tokens" (without padding), and perhaps:

    flags    in place of those of all runs; input_dir is a data set that `unpack` made
    decay    the last part of the steps, over which the rate falls (0.3); 0: never
    from     a run with "decay": 0, whose flags and last checkpoint this one goes on from; the rate
             falls from there to the end
    best_of  runs of short trials, the first without flags of its own; the flags of each one whose
             held-out nll is lower by 0.01 are taken over
"""

import collections
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Literal

import numpy as np
from absl import flags

from benchmarks import ROOT
from tta import cli
from tta.checked_files import read_json_object
from tta.data.records.arrays import LENGTHS, read_split
from tta.data.records.dataset import TRAIN, load_dataset_info, shard_name, shard_paths
from tta.data.records.features import IdLimits
from tta.data.text.files import open_output
from tta.errors import InputError
from tta.modeling.formats.run_checkpoint import (
    CHECKPOINTS,
    POSITION,
    checkpoint_path,
    checkpoint_steps,
    read_checkpoint,
)
from tta.modeling.training.run_record import RUN_FILE
from tta.names import CONFIG, DATASET, MODEL_FILES, VOCABULARY

FLAGS = flags.FLAGS
SUMS, LENGTH_COUNTS, STATE = "sums.json", "lengths.json", "state.json"
DATA, RUNS = "data", "runs"  # folders of --work_dir
MARGIN = 0.01  # by which a trial's held-out nll must be lower
# What the state of a run has from its last checkpoint and from its output.
POSITIONS = {"steps": "step", "tokens": "tokens"}
MEASURED = {"rate": r"([\d,]+) tokens/s", "nll": r"held-out nll ([\d.]+)"}


# Files in pieces.


def cut(files, folder, mib, mode: Literal["w", "w:xz"] = "w"):
    """Archives files, {name: path}, in pieces of at most `mib` MiB, with their SHA-256 sums."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in [*folder.glob("piece-*"), *folder.glob(SUMS)]:
        path.unlink()
    whole, sums = folder / "whole.tar", {}
    with tarfile.open(whole, mode) as archive:
        for name, path in files.items():
            archive.add(path, name)
    with open(whole, "rb") as file:
        while piece := file.read(mib << 20):
            name = f"piece-{len(sums):03d}"
            (folder / name).write_bytes(piece)
            sums[name] = hashlib.sha256(piece).hexdigest()
    print(f"{whole.stat().st_size:,} bytes in {len(sums)} pieces")
    whole.unlink()
    write_json(folder / SUMS, sums)


def unpack():
    """Puts pieces together, if all are there and whole, and none replaces a data set or a run."""
    pieces, work = Path(FLAGS.pieces), Path(FLAGS.work_dir)
    with tempfile.TemporaryFile() as whole:
        for name, digest in read_json_object(pieces / SUMS).items():
            if not (path := pieces / name).is_file():
                raise InputError("this piece is missing", path)
            piece = path.read_bytes()
            if hashlib.sha256(piece).hexdigest() != digest:
                raise InputError("this piece is damaged", path)
            whole.write(piece)
        whole.seek(0)
        with tarfile.open(fileobj=whole) as archive:
            found = {work.joinpath(*Path(name).parts[:2]) for name in archive.getnames()}
            if there := next(filter(Path.exists, sorted(found)), None):
                raise InputError("it is there already; remove it, or choose another folder", there)
            archive.extractall(work, filter="data")
    print(*sorted(found), sep="\n")


def write_json(path, values):
    with open_output(path, overwrite=True) as file:
        file.write(json.dumps(values, indent=1) + "\n")


# Data sets.


def mix():
    """Makes a data set of every second shard of two; the held-out sentences are the first one's."""
    (first, second), target = map(Path, FLAGS.data), Path(FLAGS.output_dir)
    info, other = map(load_dataset_info, (first, second))
    split, theirs = info["splits"][TRAIN], other["splits"][TRAIN]
    for key in ("vocab_sha256", "heldout_fraction", "seed"):  # so that the same lines are held out
        if info.get(key) != other.get(key):
            raise InputError(f"{key} is not the one of {first}", second)
    if split["shards"] != theirs["shards"] or other["max_seq_length"] > info["max_seq_length"]:
        raise InputError(f"it has other shards, or longer records, than {first}", second)
    shutil.copytree(first, target, copy_function=os.link)
    for i in range(1, split["shards"], 2):
        name = shard_name(TRAIN, i, split["shards"])
        (target / name).unlink()
        os.link(second / name, target / name)
        split["shard_bytes"][i] = theirs["shard_bytes"][i]
    del split["sentences"], split["tokens"]  # not known of half of the shards
    (target / DATASET).unlink()
    write_json(target / DATASET, info)


def pack():
    """Cuts data sets into pieces. A shard that two of them share (`mix`) is in them once."""
    files = {}
    for data in map(Path, FLAGS.data):
        info = load_dataset_info(data)
        limits = IdLimits(info["max_seq_length"], info["vocab_size"])
        lengths = read_split(shard_paths(data, info, TRAIN), limits)[1]
        write_json(data / LENGTH_COUNTS, collections.Counter(lengths.tolist()))
        names = [Path(p).name for split in info["splits"] for p in shard_paths(data, info, split)]
        for name in (DATASET, VOCABULARY, LENGTH_COUNTS, *names):
            files[f"{DATA}/{data.name}/{name}"] = data / name
    cut(files, Path(FLAGS.pieces), FLAGS.mib or 55, "w:xz")


def tokens_per_step(data, batch_tokens):
    """The mean number of tokens, without padding, in a batch of `ArrayBatches`."""
    longest = read_json_object(data / DATASET)["max_seq_length"]
    lengths, counts = np.array(
        [(int(length), count) for length, count in read_json_object(data / LENGTH_COUNTS).items()]
    ).T
    bounds = [*(n for n in LENGTHS if n < longest), longest]
    buckets = np.bincount(np.searchsorted(bounds, lengths), counts, len(bounds))
    rows = [max(1, batch_tokens // length) for length in bounds]
    return (lengths * counts).sum() / np.ceil(buckets / rows).sum()


# Runs.


class Plan:
    """The runs of a plan in a folder, and how far each one is."""

    def __init__(self, path, work):
        values = read_json_object(path)
        self.shared, self.runs = values["flags"], {run["name"]: run for run in values["runs"]}
        self.work, self.state = work, {}
        if (work / RUNS / STATE).exists():
            self.state = read_json_object(work / RUNS / STATE)

    def folder(self, name):
        return self.work / RUNS / name

    def finished(self, name):
        """The steps with which a run ended; 0 if it did not."""
        return self.state.get(name, {}).get("finished", 0)

    def flags(self, name):
        """The flags of a run but those of its steps."""
        run = self.runs[name]
        found = self.flags(run["from"]) if "from" in run else dict(self.shared)
        first, *others = run.get("best_of", [None])
        for trial in others:
            if self.state[trial]["nll"] < self.state[first]["nll"] - MARGIN:
                found |= self.runs[trial]["flags"]
        return found | run.get("flags", {})

    def steps(self, name):
        """The number of steps of a run, and of the last ones, over which the rate falls."""
        run, given = self.runs[name], self.flags(name)
        if (steps := run.get("steps")) is None:
            data = self.work / DATA / given["input_dir"]
            steps = round(run["tokens"] / tokens_per_step(data, given["train_batch_tokens"]))
        if "from" in run:
            return steps, steps - (self.finished(run["from"]) or self.steps(run["from"])[0])
        return steps, round(run.get("decay", 0.3) * steps)

    def is_done(self, name):
        return 0 < self.finished(name) >= self.steps(name)[0]

    def start(self, name):
        """Starts or resumes a run; its output goes to the end of a file."""
        steps, decay = self.steps(name)
        given = self.flags(name) | {"num_train_steps": steps, "num_decay_steps": decay}
        # Below the working folder, which may be another one when the run resumes.
        given["input_dir"] = f"{DATA}/{given['input_dir']}"
        given["config_file"] = ROOT / given["config_file"]
        folder, before = self.folder(name), self.runs[name].get("from")
        if before and not folder.exists():
            new = folder.with_name("new")
            shutil.rmtree(new, ignore_errors=True)
            for file in self.to_go_on(before):
                (new / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(self.folder(before) / file, new / file)
            new.rename(folder)
        command = [sys.executable, "-m", "tta", "pretrain", f"--output_dir={folder}"]
        command += [f"--{flag}={value}" for flag, value in given.items()]
        default = {"JAX_COMPILATION_CACHE_DIR": str(self.work / "compiled")}
        default["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = default | os.environ | {"KERAS_BACKEND": "jax", "PYTHONPATH": path}
        with open(f"{folder}.log", "ab") as log:
            return subprocess.Popen(
                command, cwd=self.work, env=env, stdout=log, stderr=subprocess.STDOUT
            )

    def to_go_on(self, name):
        """The files, below a run's folder, with which it resumes."""
        checkpoints = self.folder(name) / CHECKPOINTS
        last = [checkpoint_path(Path(CHECKPOINTS), n) for n in checkpoint_steps(checkpoints)[-1:]]
        files = [CONFIG, VOCABULARY, RUN_FILE, *last]
        return [file for file in files if (self.folder(name) / file).exists()]

    def train(self, names, until):
        """Trains runs side by side until a time; returns the names of those that failed."""
        begun, ended, processes = time.monotonic(), {}, {}
        try:
            for name in names:
                processes[name] = self.start(name)
            while len(ended) < len(names) and time.monotonic() < until:
                time.sleep(0.1)
                for name, process in processes.items():
                    if process.poll() is not None:
                        ended.setdefault(name, time.monotonic())
        finally:
            for process in processes.values():
                process.terminate()  # it saves a checkpoint
            last = time.monotonic() + FLAGS.grace
            for process in processes.values():
                try:
                    process.wait(max(0.1, last - time.monotonic()))
                except subprocess.TimeoutExpired:
                    process.kill()  # the last checkpoint is kept
            for name, process in processes.items():
                self.note(name, ended.get(name, time.monotonic()) - begun, process.wait() == 0)
        left = 0, cli.TERMINATED, -signal.SIGTERM, -signal.SIGKILL
        return [name for name in names if processes[name].returncode not in left]

    def note(self, name, seconds, finished):
        """Keeps how far a run is."""
        state = self.state.setdefault(name, {"seconds": 0.0})
        state["seconds"] += seconds
        checkpoints = self.folder(name) / CHECKPOINTS
        if steps := checkpoint_steps(checkpoints):
            arrays = read_checkpoint(checkpoint_path(checkpoints, steps[-1]))
            state |= {key: int(arrays[POSITION + n][0]) for key, n in POSITIONS.items()}
        log = Path(f"{self.folder(name)}.log").read_text(errors="replace")
        for key, pattern in MEASURED.items():
            if found := re.findall(pattern, log):
                state[key] = float(found[-1].replace(",", ""))
        if finished:
            state["finished"] = state["steps"]
        write_json(self.work / RUNS / STATE, self.state)

    def line(self, name):
        """How far a run is, in one line."""
        state = collections.defaultdict(lambda: 0, self.state.get(name, {}))
        return (
            f"{name}: {state['steps']:,} of {self.steps(name)[0]:,} steps, {state['tokens']:,} "
            f"tokens, {state['seconds']:.0f} s, {state['rate']:,.0f} tokens/s, held-out nll "
            f"{state['nll'] or 'not measured'}"
        )


def run():
    """Does what is left of a plan, until the time is up."""
    until = time.monotonic() + FLAGS.seconds - FLAGS.grace
    plan = Plan(FLAGS.plan, Path(FLAGS.work_dir).resolve())
    (plan.work / RUNS).mkdir(parents=True, exist_ok=True)
    failed = []
    for group in sorted({run["group"] for run in plan.runs.values()}):
        names = [name for name, run in plan.runs.items() if run["group"] == group]
        names = [name for name in names if not plan.is_done(name)]
        if names and time.monotonic() < until:
            failed = plan.train(names, until)
        for name in names:
            print(plan.line(name))
        if failed or not all(map(plan.is_done, names)):
            break
    for name in failed:
        *_, last = ["no output", *Path(f"{plan.folder(name)}.log").read_text().splitlines()]
        print(f"{name} failed: {last}", file=sys.stderr)
    sys.exit(cli.FAILED if failed else 0 if all(map(plan.is_done, plan.runs)) else cli.TERMINATED)


def bring():
    """Copies the next pieces of what was trained, which --part=0 cuts, to --output_dir.

    That is the model of each run that ends at a rate of 0, and what each other one needs to go on.
    """
    plan = Plan(FLAGS.plan, Path(FLAGS.work_dir).resolve())
    pieces, output = plan.work / "pieces", Path(FLAGS.output_dir)
    if FLAGS.part == 0:
        files = {f"{RUNS}/{STATE}": plan.work / RUNS / STATE}
        for name in filter(lambda name: plan.folder(name).exists(), plan.runs):
            folder, kept = plan.folder(name), plan.to_go_on(name)
            if plan.is_done(name) and plan.steps(name)[1]:
                kept = [file for file in (*MODEL_FILES, RUN_FILE) if (folder / file).exists()]
            files |= {f"{RUNS}/{name}/{file}": folder / file for file in kept}
            files[f"{RUNS}/{name}.log"] = Path(f"{folder}.log")
        cut(files, pieces, FLAGS.mib or 15)
    names = list(read_json_object(pieces / SUMS))
    parts = -(-len(names) // FLAGS.pieces_per_part)
    if FLAGS.part >= parts:
        raise InputError(f"--part={FLAGS.part}, but the parts are 0 to {parts - 1}", pieces)
    start = FLAGS.part * FLAGS.pieces_per_part
    output.mkdir(parents=True, exist_ok=True)
    for name in (SUMS, *names[start : start + FLAGS.pieces_per_part]):
        shutil.copy(pieces / name, output)
    print(f"part {FLAGS.part} of 0 to {parts - 1}")


if __name__ == "__main__":
    flags.DEFINE_list("data", [], "mix, pack: data sets of tta create-tfrecords.")
    flags.DEFINE_string("pieces", "carried", "pack, unpack: folder of the pieces.")
    flags.DEFINE_string("work_dir", "work", "unpack, run, bring: folder of data sets and runs.")
    flags.DEFINE_string("output_dir", "out", "mix, bring: folder that is written.")
    flags.DEFINE_string("plan", str(ROOT / "benchmarks/half_hour.json"), "run, bring: the plan.")
    flags.DEFINE_float("seconds", 570.0, "run: when it ends, at the latest.")
    flags.DEFINE_float("grace", 20.0, "run: the last of these seconds, to save checkpoints.")
    flags.DEFINE_integer("mib", None, "pack (55), bring (15): the most MiB in a piece.", 1)
    flags.DEFINE_integer("pieces_per_part", 4, "bring: the most pieces in a part.", 1)
    flags.DEFINE_integer("part", 0, "bring: which part, counted from 0.", 0)
    commands = {command.__name__: command for command in (mix, pack, unpack, run, bring)}
    name = sys.argv.pop(1) if len(sys.argv) > 1 and sys.argv[1] in commands else ""
    if not name and not cli.HELP & set(sys.argv):
        cli.wrong_usage(f"name a command: {', '.join(commands)}")
    cli.run(commands.get(name, run))
