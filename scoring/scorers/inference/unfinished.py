"""What an interrupted `tta score` has done, kept beside its output, so that `--resume` goes on."""

import contextlib
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tta.atomic import naming
from tta.errors import InputError
from tta.scoring.scorers.inference.store import ResultStore

_RUN = "run"  # the key of what the run depends on


@contextlib.contextmanager
def unfinished(output_file: str, run: Mapping[str, Any], resume: bool) -> Iterator[ResultStore]:
    """Gives a file for results. It is removed at the end, and if an input is wrong.

    An interrupt or a kill leaves it.

    Args:
        output_file: the output, whose lock this process holds.
        run: {name: value} of all that the output depends on.
        resume: whether to go on with the results that are there. If not, a note says that there
            were some.

    Raises:
        InputError: what is there is not such a file, or is of another run.
        OSError: the disk is full. The error names the output.
    """
    path, is_empty = _kept(output_file), True
    if os.path.lexists(path):
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise InputError("expected a file, got a link, a folder or a pipe", path)
        earlier_run = ResultStore(path).get([_RUN]).get(_RUN)
        if resume and earlier_run is not None:
            _check_run(earlier_run, run, path)
            is_empty = False
        else:
            os.unlink(path)
            rule = "of an interrupted run was replaced; --resume goes on with such a file"
            print(f"note: {path} {rule}", file=sys.stderr)
    is_done = True
    try:
        with naming(output_file):  # Private, as an output that it becomes may be.
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        store = ResultStore(path, shown=output_file)
        store.put({_RUN: run})
        is_empty = False
        yield store
    except BaseException as error:
        is_done = isinstance(error, OSError) and is_empty
        is_done = is_done or (isinstance(error, InputError) and error.path != path)
        raise
    finally:
        if is_done:
            Path(path).unlink(missing_ok=True)


@contextlib.contextmanager
def naming_resume(output_file: str) -> Iterator[None]:
    """Lets an interrupt say how the run goes on, also one before the model is loaded."""
    path = _kept(output_file)
    try:
        yield
    except BaseException as error:
        if not isinstance(error, (Exception, SystemExit)):
            if os.path.lexists(path):
                error.args = (f"--resume goes on with {path}",)
            elif output_file != "-" and not os.path.lexists(output_file):
                error.args = ("nothing was written yet",)
        raise


def _kept(output_file):
    return str(Path(output_file).with_name(f".{Path(output_file).name}.unfinished"))


def _check_run(kept, run, path):
    """Raises InputError unless a file has all values of this run."""
    for name, value in run.items():
        if kept.get(name) != value:
            rule = f"its {name} is {kept.get(name)!r}, expected {value!r}"
            raise InputError(f"an interrupted run of another run: {rule}", path)
