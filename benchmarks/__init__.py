"""Measurements, each one a command: `python -m benchmarks.speed`, in the root of the repository."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def child_environment() -> dict[str, str]:
    """The environment of a child process that starts in another folder and imports from here."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}
