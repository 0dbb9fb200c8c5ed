"""Runs a command: in this process, where TensorFlow is already imported, or with the fake model.

test_commands.py holds what needs a process of its own: imports and help.
"""

import contextlib
import importlib
import io
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from absl import app, flags

import tta
from tests import fake_model
from tta.atomic import TERMINATING
from tta.commands import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
FAKE_MODEL = ROOT / "tests/fake_model.py"


def environment(**more):
    """The environment without the variables that this process has set for TensorFlow."""
    return {k: v for k, v in os.environ.items() if not k.startswith("TF_")} | more


def python(code, *arguments, **options):
    """Runs code in a process of its own; returns a `subprocess.CompletedProcess` of texts."""
    run = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(run, **{"capture_output": True, "text": True, "cwd": ROOT} | options)


def with_fake_model(script, *flags, **options):
    """Runs a script with the fake model and without TensorFlow and Keras, in its own process.

    This takes a second; see `run_with_fake_model`. Returns a `subprocess.CompletedProcess` of
    texts, or as the options of `subprocess.run` say.
    """
    run = [sys.executable, "-W", "error", FAKE_MODEL, script, *flags]
    return subprocess.run(run, **{"capture_output": True, "text": True} | options)


class Ended(NamedTuple):
    """How a command ended, as a `subprocess.CompletedProcess` says it."""

    returncode: int
    stdout: Any
    stderr: Any


def run_command(name, *arguments, stdin=b"", text=True):
    """Runs a command by its name, for example "tta-adapt", with flags; returns an `Ended`.

    `stdin` are the bytes of its standard input. Without `text`, the outputs are bytes.
    """
    app.define_help_flags()  # which absl does only once
    handlers = {number: signal.getsignal(number) for number in TERMINATING}
    main = sys.modules["__main__"]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))

    def ended(status):
        outputs = (stream.buffer.getvalue() for stream in (out, err))
        return Ended(status, *(data.decode() if text else data for data in outputs))

    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        read = stack.enter_context(tempfile.TemporaryFile())
        read.write(stdin)
        read.seek(0)
        patch.setattr(sys, "stdin", stack.enter_context(io.TextIOWrapper(read)))
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.setattr(main, "__doc__", main.__doc__)
        # absl checks --only_check_args in the first command of a process only.
        patch.setattr(app._run_init, "done", False)
        patch.setattr(app._register_and_parse_flags_with_usage, "done", False)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                importlib.import_module(COMMANDS[name]).run()
        except SystemExit as end:
            return ended(end.code or 0)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            flags.FLAGS.unparse_flags()
            for flag in list(flags.FLAGS.flags_by_module_dict().get("tta.cli", [])):
                delattr(flags.FLAGS, flag.name)
    raise AssertionError("a command exits")


def run_with_fake_model(name, *arguments, **options):
    """`run_command` with the fake model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tta, "load", fake_model.load)
        return run_command(name, *arguments, **options)
