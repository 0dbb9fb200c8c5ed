"""Fuzzes every reader: hostile files give a result or an InputError, in bounded time and memory.

    python -m benchmarks.faults.fuzz --inputs=100000

Two engines generate the tapes of tests/fuzzing.py: Hypothesis, and Atheris (`pip install atheris`),
which follows the code that a tape reaches in the readers. Each reader runs in a separate process. A
row shows the outcomes of its inputs, the CPU seconds of the slowest one, and the peak memory of the
process. The first input that breaks a reader ends the run with status 1, its tape and a traceback.
"""

import collections
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from absl import app, flags

from benchmarks import child_environment

ENGINES = ("hypothesis", "atheris")
MAX_TAPE_BYTES = 64

FLAGS = flags.FLAGS
flags.DEFINE_integer("inputs", 100_000, "Inputs per reader and engine.", lower_bound=1)
flags.DEFINE_integer("seed", 0, "Seed of the engines.", lower_bound=0)
flags.DEFINE_list("readers", None, "Readers to fuzz. Default: all.")
flags.DEFINE_multi_enum("engine", None, ENGINES, "Engine of the inputs. Default: all installed.")
flags.DEFINE_string("tape", None, "Reads and prints the file of this single tape (hexadecimal).")
flags.DEFINE_bool("child", False, "Set by the command itself: one reader, one engine.")


class Count:
    """Calls a reader with tapes, and counts the outcomes.

    Args:
        reader: a `tests.fuzzing.Reader`.
        path: the file that is written for each tape.
    """

    def __init__(self, reader, path):
        self.reader, self.path = reader, path
        self.outcomes = collections.Counter()
        self.slowest = 0.0  # CPU seconds

    def __call__(self, tape):
        from tests.fuzzing import outcome

        start = time.process_time()
        try:
            self.outcomes[outcome(self.reader, self.path, tape)] += 1
        except Exception:
            print(f"--tape={tape.hex()}", file=sys.stderr)
            traceback.print_exc()
            os._exit(1)  # an engine would continue, or shrink the input
        self.slowest = max(self.slowest, time.process_time() - start)

    @property
    def total(self):
        return self.outcomes.total()

    def report(self):
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps([self.outcomes, self.slowest, memory]), flush=True)


def by_hypothesis(name, path):
    """Draws tapes with Hypothesis."""
    import hypothesis
    from hypothesis import strategies

    from tests.fuzzing import READERS

    count = Count(READERS[name], path)

    @hypothesis.seed(FLAGS.seed)
    @hypothesis.settings(
        max_examples=FLAGS.inputs,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategies.binary(max_size=MAX_TAPE_BYTES))
    def run(tape):
        if count.total < FLAGS.inputs:
            count(tape)

    run()
    count.report()


def by_atheris(name, path):
    """Lets Atheris search for tapes that reach new code."""
    import atheris

    with atheris.instrument_imports(include=["tta", "csv", "json", "zipfile"]):
        from tests.fuzzing import READERS

    count = Count(READERS[name], path)

    def run(tape):
        count(tape)
        if count.total == FLAGS.inputs:
            count.report()
            os._exit(0)  # libFuzzer never returns

    options = [
        f"-seed={FLAGS.seed + 1}",
        f"-max_len={MAX_TAPE_BYTES}",
        "-timeout=600",
        "-verbosity=0",
    ]
    atheris.Setup([sys.argv[0], *options], run)
    atheris.Fuzz()


def main(_):
    from tests.fuzzing import READERS, hostile_file, outcome

    names = FLAGS.readers or list(READERS)
    engines = FLAGS.engine or [e for e in ENGINES if importlib.util.find_spec(e)]
    with tempfile.TemporaryDirectory(
        dir="/dev/shm" if os.path.isdir("/dev/shm") else None
    ) as folder:
        if FLAGS.tape is not None:
            tape = bytes.fromhex(FLAGS.tape)
            print(hostile_file(READERS[names[0]], tape))
            print(outcome(READERS[names[0]], Path(folder) / "file", tape))
            return
        print("reader           engine       inputs  results  refused  slowest  memory")
        for name in names:
            for engine in engines:
                arguments = [f"--readers={name}", f"--engine={engine}", "--child"]
                arguments += [f"--inputs={FLAGS.inputs}", f"--seed={FLAGS.seed}"]
                ended = subprocess.run(
                    [sys.executable, "-m", "benchmarks.faults.fuzz", *arguments],
                    cwd=folder,
                    env=child_environment(),
                    capture_output=True,
                    text=True,
                )
                if ended.returncode:
                    _, flag, rest = ended.stderr.rpartition("--tape=")  # after Atheris's log
                    sys.exit(f"{name}: {engine} found an input that breaks it: {flag}{rest}")
                report = ended.stdout.splitlines()[-1]  # Atheris prints slow inputs before it.
                outcomes, slowest, memory = json.loads(report)
                total, results = sum(outcomes.values()), outcomes.get("result", 0)
                print(
                    f"{name:16} {engine:10} {total:8,} {results:8,} {total - results:8,}"
                    f"  {slowest:6.2f}s {memory:4} MB",
                    flush=True,
                )


def child(_):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        (by_atheris if FLAGS.engine == ["atheris"] else by_hypothesis)(
            FLAGS.readers[0], Path(folder) / "file"
        )


if __name__ == "__main__":
    app.run(child if "--child" in sys.argv else main)
