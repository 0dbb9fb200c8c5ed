"""kill -9 at random moments: repeating the command gives the result of an uninterrupted run.

    python -m benchmarks.faults.kill --kills=20

Data preparation, training and reranking run with tiny models and data. Each command first runs
uninterrupted. Then it is killed at a random moment, repeatedly, and finally runs to its end. After
each kill, every file with a final name must equal that of the uninterrupted run, byte for byte.
(Checkpoints are checked by the run that resumes from them; logs are not checked.)
"""

import contextlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from absl import app, flags

from benchmarks import ROOT
from benchmarks.faults import commands
from benchmarks.faults.commands import final_files

COMMANDS = ("prepare", "train", "rerank")

FLAGS = flags.FLAGS
flags.DEFINE_integer("kills", 20, "Kills per command.", lower_bound=1)
flags.DEFINE_integer("seed", 0, "Seed of the moments.")
flags.DEFINE_multi_enum("command", list(COMMANDS), COMMANDS, "Command to kill.")


def survive(name, kills, rng):
    """Kills a command `kills` times; prints a row, or ends the program if something is lost."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        command, output = [sys.executable, *getattr(commands, name)(folder)], folder / "out"

        def start():
            with open(folder / "err", "wb") as err:
                return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=err)

        def finish():
            if start().wait():
                sys.exit(f"{name} failed: {(folder / 'err').read_text()}")

        def clear():
            shutil.rmtree(output)
            if name == "rerank":
                output.mkdir()

        begun = time.monotonic()
        finish()
        seconds = time.monotonic() - begun
        expected = final_files(output)
        clear()
        killed = unfinished = 0
        fresh = True  # There is nothing to resume from.
        while killed < kills:
            process, begun = start(), time.monotonic()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0, seconds))
            process.kill()
            if process.wait() not in (0, -signal.SIGKILL):
                sys.exit(f"{name} failed: {(folder / 'err').read_text()}")
            killed += process.returncode != 0
            if fresh and process.returncode == 0:  # The machine has less load than before.
                seconds = time.monotonic() - begun
            found = final_files(output) if output.exists() else {}
            for file, content in found.items():
                if content != expected.get(file):
                    sys.exit(f"{name}: {file} differs from that of an uninterrupted run")
            fresh = found == expected
            if fresh:
                clear()
            else:
                unfinished += process.returncode != 0
        finish()
        if final_files(output) != expected:
            sys.exit(f"{name}: the final files differ from those of an uninterrupted run")
        left = [p.name for p in output.rglob(".*")]
        size = sum(map(len, expected.values()))
        print(
            f"{name:8} {seconds:6.0f} s uninterrupted, {killed} kills survived, {unfinished} of "
            f"them before the end; {size:,} bytes in {len(expected)} files, 0 differ; "
            f"left behind: {left or 'nothing'}",
            flush=True,
        )


def main(_):
    rng = random.Random(FLAGS.seed)
    for name in FLAGS.command:
        survive(name, FLAGS.kills, rng)


if __name__ == "__main__":
    app.run(main)
