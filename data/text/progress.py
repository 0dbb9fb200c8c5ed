"""The progress of long work on standard error: a bar on a terminal, a line a minute in a log."""

import sys
from typing import Any

_SECONDS = 60.0


def tqdm(*arguments: Any, disable: bool = False, delay: float = _SECONDS, **options: Any) -> Any:
    """As tqdm's bar. What is no terminal, such as a log, gets whole lines, at most one a minute.

    The first line comes after `delay` seconds. The output of a notebook is a terminal here.
    """
    import tqdm as package  # takes long, and most calls show no progress

    if disable or sys.stderr.isatty() or "ipykernel" in sys.modules:
        return package.tqdm(*arguments, disable=disable, **options)

    class LogLines(package.tqdm):
        """Writes a new line where the line of a terminal is replaced."""

        @staticmethod
        def status_printer(file: Any) -> Any:
            return lambda text: print(text, file=file, flush=True)

        def clear(self, nolock=False):
            """Nothing is on the present line."""

        def moveto(self, n):
            """Bars share no lines."""

    often = dict.fromkeys(("mininterval", "maxinterval"), _SECONDS)
    return LogLines(*arguments, **options | often, delay=delay)
