"""Fills the disk: a command must print one clear line and keep the files that existed before.

    python -m benchmarks.faults.disk_full

Data preparation, training, reranking and export write to a separate tmpfs whose size is a share of
the space that they need. If mounting is not allowed, no file may grow beyond that share of the
largest file (RLIMIT_FSIZE). The command prints one row per trial, and ends when a trial breaks a
rule.
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from absl import app, flags

from benchmarks import ROOT
from benchmarks.faults import commands
from benchmarks.faults.commands import final_files

COMMANDS = ("prepare", "train", "rerank", "export")
FORMER = "former"  # a file that exists before the command runs

FLAGS = flags.FLAGS
flags.DEFINE_multi_enum("command", list(COMMANDS), COMMANDS, "Command to run on a full disk.")
flags.DEFINE_multi_float("share", [0.1, 0.5, 0.9], "Available share of the space that it needs.")


def mounted(folder, size):
    """Mounts a tmpfs of `size` bytes on the folder; returns whether that succeeded."""
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    return not subprocess.run(mount, capture_output=True, check=False).returncode


def run(command, limit=None):
    """Runs a command; no file of it may grow beyond `limit` bytes."""
    bound = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, preexec_fn=bound, check=False
    )


def sizes(folder):
    return [path.stat().st_size for path in folder.rglob("*") if path.is_file()]


def try_all(name):
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        disk = folder / "disk"
        command = [sys.executable, *getattr(commands, name)(folder)]
        # The output is on the small disk; the inputs are not.
        output = disk / "out"
        command = [part.replace(str(folder / "out"), str(output)) for part in command]
        disk.mkdir()
        if name == "rerank":
            output.mkdir()
        if (ended := run(command)).returncode:
            sys.exit(f"{name} failed: {ended.stderr}")
        whole, largest = sum(sizes(disk)), max(sizes(disk))
        shutil.rmtree(disk)
        for share in FLAGS.share:
            disk.mkdir()
            means = "tmpfs" if mounted(disk, int(whole * share)) else "RLIMIT_FSIZE"
            try:
                (disk / FORMER).write_bytes(b"former")
                if name == "rerank":
                    output.mkdir()
                    (output / "nbest").write_bytes(b"former list")
                limit = None if means == "tmpfs" else int(largest * share)
                check(name, share, means, run(command, limit), disk)
            finally:
                if means == "tmpfs":
                    subprocess.run(["umount", str(disk)], check=True)
                shutil.rmtree(disk, ignore_errors=True)


def check(name, share, means, ended, disk):
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    left = final_files(disk)
    wrong = []
    if ended.returncode != 1 or len(errors) != 1 or "Traceback" in ended.stderr:
        wrong.append(f"exit status {ended.returncode}, {ended.stderr[-2000:]}")
    if left.pop(FORMER) != b"former" or left.pop("out/nbest", b"former list") != b"former list":
        wrong.append("an existing file has changed")
    finished = {"out/dataset.json", "out/model.weights.h5", "out/1/saved_model.pb"} & left.keys()
    if finished:
        wrong.append(f"looks finished: {finished}")
    if wrong:
        sys.exit(f"{name} at {share:.0%}, {means}: {'; '.join(wrong)}")
    print(f"{name:8} {share:4.0%} {means:12} {errors[0]}", flush=True)


def main(_):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    for name in FLAGS.command:
        try_all(name)


if __name__ == "__main__":
    app.run(main)
