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
from pathlib import Path
from typing import NamedTuple

import pytest
from absl import app, flags

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

    Returns a `subprocess.CompletedProcess` of texts, or as the options of `subprocess.run` say.
    """
    run = [sys.executable, "-W", "error", FAKE_MODEL, script, *flags]
    return subprocess.run(run, **{"capture_output": True, "text": True} | options)


class Ended(NamedTuple):
    """How a command ended, as a `subprocess.CompletedProcess` says it."""

    returncode: int
    stdout: str
    stderr: str


def run_command(name, *arguments):
    """Runs a command by its name, for example "tta-adapt", with flags; returns an `Ended`."""
    app.define_help_flags()  # which absl does only once
    handler, main = signal.getsignal(signal.SIGTERM), sys.modules["__main__"]
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [name, *map(str, arguments)])
        patch.setattr(main, "__doc__", main.__doc__)
        # absl checks --only_check_args in the first command of a process only.
        patch.setattr(app._run_init, "done", False)
        patch.setattr(app._register_and_parse_flags_with_usage, "done", False)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                importlib.import_module(COMMANDS[name]).run()
        except SystemExit as ended:
            return Ended(ended.code or 0, out.getvalue(), err.getvalue())
        finally:
            signal.signal(signal.SIGTERM, handler)
            flags.FLAGS.unparse_flags()
            for flag in list(flags.FLAGS.flags_by_module_dict().get("tta.cli", [])):
                delattr(flags.FLAGS, flag.name)
    raise AssertionError("a command exits")
