"""Measurements, each one a command: `python -m benchmarks.speed`, in the root of the repository."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def child_environment() -> dict[str, str]:
    """The environment of a child process that starts in another folder and imports from here."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def commit() -> str:
    """The commit of the checkout, seven digits, with "+" if tracked files of code differ from it.

    "" where there is no checkout.
    """
    commands = [["rev-parse", "--short=7", "HEAD"], ["status", "--porcelain", "--", "*.py"]]
    try:
        name, changes = (
            subprocess.check_output(["git", *command], cwd=ROOT, text=True).strip()
            for command in commands
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return name + "+" * bool(changes)
