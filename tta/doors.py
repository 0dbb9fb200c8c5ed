"""How a message names an option: as a flag, as an argument of Python, or as a field of JSON.

A message is written where something is found out, and read by who came in by a command, by Python
or by HTTP. `option_named` writes the name of an option as it is written at that door.
"""

import contextlib
import json
from collections.abc import Iterator
from contextvars import ContextVar
from enum import Enum
from typing import Any


class Door(Enum):
    """Where a user comes in."""

    COMMAND = "command"
    PYTHON = "Python"
    HTTP = "HTTP"


# The door of this process: a command opens it for all its threads. A request has its own.
_of_process = Door.PYTHON
_of_request: ContextVar[Door | None] = ContextVar("door", default=None)

# The fields of a request of the service; its other options are flags of `tta serve`.
REQUEST_FIELDS = {"weights", "metric", "rank_scores", "keep_non_words", "phrases_weight"}
# What Python and HTTP have in place of an option of a command, with its value.
_IN_PLACE: dict[tuple[str, Any], dict[Door, str]] = {
    ("decision", "max"): {
        Door.PYTHON: "decision='max', or weights with scale=inf",
        Door.HTTP: '"scale": null in "weights"',
    },
    ("normalize", "basic"): {
        Door.PYTHON: "normalize='basic' of the metric",
        Door.HTTP: "the spelling of the lists",
    },
}


@contextlib.contextmanager
def through(door: Door) -> Iterator[None]:
    """Within it, messages name options as this door does: in a request, or in the whole process."""
    global _of_process
    if door is Door.HTTP:
        token = _of_request.set(door)
        try:
            yield
        finally:
            _of_request.reset(token)
        return
    before, _of_process = _of_process, door
    try:
        yield
    finally:
        _of_process = before


def option_named(option: str, value: Any = None) -> str:
    """An option, and the value that a message advises, as they are written at the user's door.

    `option_named("rank_scores", False)` is `--norank_scores` for a command, `rank_scores=False` in
    Python and `"rank_scores": false` over HTTP. An option of the whole service is a flag of `tta
    serve`.
    """
    door = _of_request.get() or _of_process
    if (option, value) in _IN_PLACE and door in _IN_PLACE[option, value]:
        return _IN_PLACE[option, value][door]
    if door is Door.PYTHON:
        return option if value is None else f"{option}={value!r}"
    if door is Door.HTTP and option in REQUEST_FIELDS:
        return f'"{option}"' if value is None else f'"{option}": {json.dumps(value)}'
    flag = _flag(option, value)
    return flag if door is Door.COMMAND else f"tta serve {flag}"


def _flag(option: str, value: Any) -> str:
    if isinstance(value, bool):
        return f"--{option}" if value else f"--no{option}"
    return f"--{option}" if value is None else f"--{option}={value}"
