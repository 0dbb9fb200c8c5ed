"""kill -9 at random moments: no file is lost or half, and repeating the command succeeds.

    python -m benchmarks.faults.kill --kills=20

Every command that writes files runs with a tiny model and data, first without a fault. Then it is
killed, again and again, and repeated after each kill. Half of the kills come after a random time,
the others at a random one of its operations on files (opening, renaming, removing), where most
could be lost. After each kill, every file with a final name must be that of the undisturbed run or
the one that was there before, byte for byte, and the inputs unchanged. (Checkpoints are checked by
the run that resumes from them; logs are not checked.) At the end, two runs start at once.

A command is a fork of this process, which has imported TensorFlow: so kills hit the work, not the
imports. Flags are read by argparse, because a command has absl's flags for itself.
"""

import argparse
import contextlib
import json
import os
import random
import runpy
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import ROOT
from benchmarks.faults import commands
from benchmarks.faults.commands import final_files

COMMANDS = (
    *("create_vocab", "prepare", "create_vectors", "train", "adapt", "classify", "fit_pooling"),
    *("score", "sts", "rerank", "rerank_folder", "reconstruct", "half", "export", "export_onnx"),
)
# A resumable command: its model is that of the best run so far, until all have ended.
IMPROVED = {"classify": ("README.md", "model.weights.h5", "config.json", "best.json")}
# What `sys.addaudithook` calls operations that may change a file.
OPERATIONS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod")


class Trial:
    """A command in its folder, and what it wrote when nothing disturbed it.

    Args:
        name: a function of `benchmarks.faults.commands`.
        folder: a new folder.
    """

    def __init__(self, name, folder):
        self.name, self.folder, self.output = name, folder, folder / "out"
        folder.mkdir()
        self.command = self._prepare()
        self.inputs = self._inputs()
        self.former = final_files(self.output)
        self._kept = folder.with_name(f"{folder.name}-kept")
        if self.output.exists():
            shutil.copytree(self.output, self._kept)
        begun = time.monotonic()
        self.finish()
        self.seconds = time.monotonic() - begun
        self.operations = int((folder / "operations").read_text())
        self.expected = final_files(self.output)
        self.restore()

    def _prepare(self):
        """Writes the inputs; returns the command. In a fork: TensorFlow must not start here."""
        child = os.fork()
        if not child:
            try:
                command = getattr(commands, self.name)(self.folder)
                (self.folder / ".command").write_text(json.dumps(command))
                os._exit(0)
            finally:
                sys.excepthook(*sys.exc_info())
                os._exit(1)
        if os.waitpid(child, 0)[1]:
            sys.exit(f"{self.name}: its inputs cannot be written")
        command = json.loads((self.folder / ".command").read_text())
        (self.folder / ".command").unlink()
        return command

    def _inputs(self):
        files = final_files(self.folder)
        ours = ("out/", "err", "operations")
        return {name: content for name, content in files.items() if not name.startswith(ours)}

    def restore(self):
        """Puts the output folder back to what it was before the command."""
        shutil.rmtree(self.output, ignore_errors=True)
        if self._kept.exists():
            shutil.copytree(self._kept, self.output)

    def start(self, fatal_operation=None, log="err"):
        """Starts the command; it kills itself before the operation on files of this number."""
        if child := os.fork():
            return child
        try:
            os.chdir(ROOT)
            for stream, path in ((1, "/dev/null"), (2, self.folder / log)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            self._count_operations(fatal_operation)
            status = run(self.command)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            status = 2
        sys.stderr.flush()
        os._exit(status)

    def _count_operations(self, fatal):
        own, count = str(self.folder), 0

        def hook(event, arguments):
            nonlocal count
            if event in OPERATIONS and str(arguments[0]).startswith(own):
                count += 1
                if count == fatal:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        if fatal is None:
            exit_process = os._exit

            def count_and_exit(status):
                number = count
                (self.folder / "operations").write_text(f"{number}")
                exit_process(status)

            os._exit = count_and_exit

    def wait(self, child, seconds=None):
        """The exit status of a command, -9 if it was killed; it is after this number of seconds."""
        end = None if seconds is None else time.monotonic() + seconds
        while end is not None:
            if (ended := os.waitpid(child, os.WNOHANG))[0]:
                return os.waitstatus_to_exitcode(ended[1])
            if time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                break
            time.sleep(0.001)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def finish(self):
        """Runs the command to its end."""
        if self.wait(self.start()):
            self.fail("failed: ")

    def error(self, log="err"):
        """The line of an error; ends the program if the command printed something else."""
        lines = (self.folder / log).read_text().splitlines()
        errors = [line for line in lines if line.startswith("error: ")]
        if len(errors) != 1 or any("Traceback" in line for line in lines):
            self.fail("it printed no single line for its error: ", log)
        return errors[0]

    def found(self):
        """The final files; ends the program if one is neither the old one nor the new one."""
        if self._inputs() != self.inputs:
            self.fail("an input has changed")
        found = final_files(self.output)
        for file in found.keys() | self.former.keys():
            wanted = self.former.get(file), self.expected.get(file)
            if found.get(file) not in wanted and not self._is_kept(file):
                self.fail(f"{file} is neither the old file nor the new one")
        return found

    def _is_kept(self, file):
        """Whether the next run of the command puts a file back: one of a folder it replaced.

        Or the old file is withdrawn, because it belongs to scores in another file; or the command
        improves it from run to run.
        """
        for folder in self.output.glob(".tta-*.old"):
            content = (folder / Path(file).relative_to(Path(file).parts[0])).read_bytes()
            return content == self.former[file]
        is_withdrawn = self.name == "rerank" and not (self.output / file).exists()
        return is_withdrawn or file in IMPROVED.get(self.name, ())

    def fail(self, rule, log="err"):
        shown = (self.folder / log).read_text() if (self.folder / log).exists() else ""
        sys.exit(f"{self.name}: {rule}\n{shown[-3000:]}")


def run(command):
    """Runs a command line of Python in this process; returns its exit status."""
    kind, *arguments = command
    try:
        if kind == "-c":
            exec(compile(arguments[0], "<command>", "exec"), {"__name__": "__main__"})
        elif kind == "-m":
            sys.argv = arguments
            runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        else:
            sys.argv = command
            runpy.run_path(str(ROOT / kind), run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
            return 1
        return ended.code or 0
    return 0


def survive(name, kills, rng):
    """Kills a command `kills` times, then starts two at once; prints a row."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(name, Path(folder) / "trial")
        tried = ended = refused = 0
        while tried < kills:
            if tried % 2:
                status = trial.wait(trial.start(rng.randint(1, trial.operations)))
            else:
                status = trial.wait(trial.start(), rng.uniform(0, trial.seconds))
            found = trial.found()
            is_whole = found == trial.expected
            if status == 1:  # A run before was killed when its files were there already.
                trial.error()
                if not is_whole:
                    trial.fail("it does not go on: ")
                refused += 1
            elif status not in (0, -signal.SIGKILL):
                trial.fail(f"status {status}: ")
            tried += status == -signal.SIGKILL
            ended += status == 0
            if is_whole and status != -signal.SIGKILL:
                trial.restore()
        status = trial.wait(trial.start())
        if status and (trial.error(), trial.found())[1] != trial.expected:
            trial.fail("it does not go on: ")
        if trial.found() != trial.expected:
            trial.fail("the final files differ from those of an undisturbed run")
        left = [path.name for path in trial.folder.rglob(".*")]
        if left:
            trial.fail(f"left behind: {left}")
        trial.restore()
        second = start_two(trial)
        print(
            f"{name:14} {trial.seconds:5.1f} s, {trial.operations:4} operations; {tried} kills, "
            f"{tried} survived; {refused} repetitions refused in one line, {ended} to the end; "
            f"of two at once, the second: {second}",
            flush=True,
        )


def start_two(trial):
    """Starts a command twice at once; says what became of the second."""
    children = [trial.start(log=f"err{number}") for number in range(2)]
    statuses = [trial.wait(child) for child in children]
    if trial.found() != trial.expected:
        trial.fail("two at once: the files differ from those of an undisturbed run")
    if statuses == [0, 0]:
        return "succeeded"
    if sorted(statuses) != [0, 1]:
        trial.fail(f"two at once: status {statuses}", "err0")
    return trial.error(f"err{statuses.index(1)}").replace(str(trial.folder), "FOLDER")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="Kills per command.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the moments.")
    parser.add_argument("--command", action="append", choices=COMMANDS, help="Default: all.")
    options = parser.parse_args()
    import tensorflow  # noqa: F401

    with contextlib.suppress(KeyboardInterrupt):
        for name in options.command or COMMANDS:
            survive(name, options.kills, random.Random(f"{name} {options.seed}"))


if __name__ == "__main__":
    main()
