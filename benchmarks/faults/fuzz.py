"""Fuzzes every reader: hostile files give a result or an InputError, in bounded time and memory.

    python -m benchmarks.faults.fuzz --inputs=100000

Two engines generate the tapes of tests/fuzzing.py: a random generator, and Atheris (`pip install
atheris`), which follows the code that a tape reaches in the readers. Each reader runs in a separate
process, so a library that crashes or never ends is found, too. A row shows the outcomes of its
inputs, the CPU seconds of the slowest one, and the peak memory of the process above that after its
valid files. An input that breaks a reader ends the reader; the command prints its tape and its
traceback, goes on with the next reader, and ends with status 1.
"""

import collections
import faulthandler
import importlib.util
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from absl import app, flags

from benchmarks import child_environment

ENGINES = ("random", "atheris")
MAX_TAPE_BYTES = 64
# Files of a process: its last tape, what it printed on standard error, its counts.
TAPE, ERRORS, REPORT = "tape", "errors", "report"
MAX_SECONDS = 10  # of the processor, per input
HANG_SECONDS = 300  # after which the process is ended
MEMORY_BYTES = 500 << 20  # besides four times the bytes of the file

FLAGS = flags.FLAGS
flags.DEFINE_integer("inputs", 100_000, "Inputs per reader and engine.", lower_bound=1)
flags.DEFINE_float("seconds", None, "Ends a slow reader after this time.", lower_bound=0)
flags.DEFINE_integer("seed", 0, "Seed of the engines.", lower_bound=0)
flags.DEFINE_list("readers", None, "Readers to fuzz. Default: all.")
flags.DEFINE_multi_enum("engine", None, ENGINES, "Engine of the inputs. Default: all installed.")
flags.DEFINE_string("tape", None, "Reads and prints the file of this single tape (hexadecimal).")
flags.DEFINE_bool("child", False, "Set by the command itself: one reader, one engine.")


class Count:
    """Calls a reader with tapes, and counts the outcomes.

    Args:
        reader: a `tests.fuzzing.Reader`.
        path: the file that is written for each tape. The last tape is in a file beside it.
    """

    def __init__(self, reader, path):
        from tests.fuzzing import outcome

        self.reader, self.path = reader, path
        self.outcomes = collections.Counter()
        self.slowest = 0.0  # CPU seconds
        for seed in range(len(reader.tokens)):  # imports what is imported late
            outcome(reader, path, bytes([seed]))
        self.begun, self.memory = time.monotonic(), peak_memory()

    def __call__(self, tape):
        from tests.fuzzing import outcome

        start = time.process_time()
        Path(TAPE).write_bytes(tape)
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        try:
            self.outcomes[outcome(self.reader, self.path, tape)] += 1
            more = peak_memory() - self.memory
            assert more <= MEMORY_BYTES + 4 * self.path.stat().st_size, f"it took {more:,} bytes"
            seconds = time.process_time() - start
            assert seconds < MAX_SECONDS, f"it took {seconds:.0f} s"
        except Exception:
            traceback.print_exc()
            os._exit(1)  # an engine would continue
        faulthandler.cancel_dump_traceback_later()
        self.slowest = max(self.slowest, seconds)

    @property
    def is_done(self):
        is_late = FLAGS.seconds and time.monotonic() - self.begun > FLAGS.seconds
        return is_late or self.outcomes.total() >= FLAGS.inputs

    def report(self):
        memory = (peak_memory() - self.memory) >> 20
        Path(REPORT).write_text(json.dumps([self.outcomes, self.slowest, memory]))


def peak_memory():
    """The largest memory of this process so far, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def at_random(name, path):
    """Draws tapes at random. Most are of a few edits, which leave the rest of a file valid."""
    count = Count(all_readers()[name], path)
    rng = random.Random(f"{name} {FLAGS.seed}")
    while not count.is_done:
        count(rng.randbytes(min(MAX_TAPE_BYTES, 1 + int(rng.expovariate(1 / 10)))))
    count.report()


def by_atheris(name, path):
    """Lets Atheris search for tapes that reach new code."""
    import atheris

    with atheris.instrument_imports(include=["tta", "csv", "json", "zipfile"]):
        readers = all_readers()

    count = Count(readers[name], path)

    def run(tape):
        count(tape)
        if count.is_done:
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


def all_readers():
    """{name: `tests.fuzzing.Reader`} of all tables."""
    import tensorflow  # noqa: F401

    from tests.fuzzing import READERS
    from tests.fuzzing_models import MODEL_READERS, TENSORFLOW_READERS
    from tta.papers.tests import fuzzing as papers

    return READERS | MODEL_READERS | TENSORFLOW_READERS | papers.READERS | papers.MODEL_READERS


def main(_):
    readers = all_readers()
    names = FLAGS.readers or list(readers)
    engines = FLAGS.engine or [e for e in ENGINES if e == "random" or importlib.util.find_spec(e)]
    folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=folder) as folder:
        if FLAGS.tape is not None:
            from tests.fuzzing import hostile_file, outcome

            tape = bytes.fromhex(FLAGS.tape)
            print(hostile_file(readers[names[0]], tape))
            print(outcome(readers[names[0]], Path(folder) / "file", tape))
            return
        print("reader           engine       inputs  results  refused  slowest  memory", flush=True)
        faulthandler.enable()
        rows = [run_child(name, engine, folder) for name in names for engine in engines]
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = usage.ru_utime + usage.ru_stime
    print(f"{sum(filter(None, rows)):,} inputs, {rows.count(None)} readers broken, {seconds:.0f} s")
    sys.exit(None in rows)


def run_child(name, engine, folder):
    """Fuzzes a reader in a process of its own; returns the number of inputs, None if it breaks."""
    status = (fork if engine == "random" else start)(name, folder)
    if status:
        tape = (Path(folder) / TAPE).read_bytes().hex()
        error = (Path(folder) / ERRORS).read_text(errors="replace")
        print(f"{name}: {engine} found an input that breaks it, status {status}:")
        print(f"--readers={name} --tape={tape}\n{error[-5000:]}", flush=True)
        return None
    outcomes, slowest, memory = json.loads((Path(folder) / REPORT).read_text())
    total, results = sum(outcomes.values()), outcomes.get("result", 0)
    print(
        f"{name:16} {engine:10} {total:8,} {results:8,} {total - results:8,}"
        f"  {slowest:6.2f}s {memory:4} MB",
        flush=True,
    )
    return total


def fork(name, folder):
    """Runs `at_random` in a fork, which need not import anything; returns its exit status."""
    child = os.fork()
    if not child:
        try:
            os.chdir(folder)
            os.dup2(os.open(ERRORS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
            fuzz_here(at_random, name)
            os._exit(0)
        finally:
            traceback.print_exc()
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def start(name, folder):
    """Runs `by_atheris`, which changes what is imported; returns the exit status."""
    arguments = [f"--readers={name}", f"--inputs={FLAGS.inputs}", f"--seed={FLAGS.seed}", "--child"]
    arguments += [f"--seconds={FLAGS.seconds}"] if FLAGS.seconds else []
    with open(Path(folder) / ERRORS, "wb") as errors:
        ended = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-m", "benchmarks.faults.fuzz", *arguments],
            cwd=folder,
            env=child_environment(),
            stdout=subprocess.DEVNULL,
            stderr=errors,
            check=False,
        )
    return ended.returncode


def fuzz_here(engine, name):
    """Calls an engine with a path in a new folder of the working directory."""
    Path(TAPE).write_bytes(b"")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        engine(name, Path(folder) / "file")


def child(_):
    fuzz_here(by_atheris, FLAGS.readers[0])


if __name__ == "__main__":
    app.run(child if "--child" in sys.argv else main)
