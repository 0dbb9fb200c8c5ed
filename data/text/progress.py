"""The progress of long work on standard error: a bar on a terminal, a line a minute in a log."""

import sys
from typing import Any

import tqdm as tqdm_package

_SECONDS = 60.0


class _LogLines(tqdm_package.tqdm):
    """A progress bar for a log file, which gets a new line where a terminal's line is replaced."""

    @staticmethod
    def status_printer(file: Any) -> Any:
        return lambda text: print(text, file=file, flush=True)

    def clear(self, nolock=False):
        """Nothing is on the present line."""


def tqdm(*arguments: Any, disable: bool = False, delay: float = _SECONDS, **options: Any) -> Any:
    """As tqdm's bar. What is no terminal, such as a log, gets whole lines, at most one a minute.

    The first line comes after `delay` seconds. The output of a notebook is a terminal here.
    """
    if disable or sys.stderr.isatty() or "ipykernel" in sys.modules:
        return tqdm_package.tqdm(*arguments, disable=disable, **options)
    often = dict.fromkeys(("mininterval", "maxinterval"), _SECONDS)
    return _LogLines(*arguments, **options | often, delay=delay)
