"""Models that a benchmark trains, and results that it keeps to go on where it was stopped."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from absl import app

from benchmarks import ROOT


def chosen(rows: Iterable[Any], names: str | None) -> list[Any]:
    """The rows with these names, separated by ";"; None is all.

    Raises:
        absl.app.UsageError: there is no such row.
    """
    known = {row.name: row for row in rows}
    wanted = list(known) if names is None else names.split(";")
    for name in wanted:
        if name not in known:
            raise app.UsageError(f"--rows: no row {name!r}; there are {'; '.join(known)}")
    return [known[name] for name in wanted]


def slug(name: str) -> str:
    """A file name for a row."""
    return "".join(c if c.isalnum() else "-" for c in name.lower())


def pretrain(folder: Path, flags: list[str]) -> float:
    """Runs run_pretraining.py, which resumes an interrupted run; the seconds that it took.

    Raises:
        subprocess.CalledProcessError: it failed, and said why on standard error.
    """
    start = time.time()
    command = [sys.executable, "run_pretraining.py", f"--output_dir={folder.resolve()}", *flags]
    subprocess.run(command, cwd=ROOT, check=True)
    return time.time() - start


def is_trained(folder: Path) -> bool:
    """Whether the training of a model has finished."""
    return (folder / "model.weights.h5").exists()


def kept(path: Path, measure: Callable[[], Any]) -> Any:
    """The JSON value in a file; `measure` makes it if there is no such file."""
    if not path.exists():
        text = json.dumps(measure())
        path.write_text(text, encoding="utf-8")
    return json.loads(path.read_text(encoding="utf-8"))
