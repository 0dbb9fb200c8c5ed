"""Runs checks in a process that a test starts."""

import traceback
from collections.abc import Callable, Iterable


def run_checks(checks: Iterable[Callable[[], None]], names: list[str]) -> None:
    """Prints "ok NAME" for each check that holds, else "failed NAME ERROR"; no names are all."""
    for check in checks:
        if names and check.__name__ not in names:
            continue
        try:
            check()
            print("ok", check.__name__, flush=True)
        except Exception as error:
            print("failed", check.__name__, repr(error), flush=True)
            traceback.print_exc()
