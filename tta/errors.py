"""The error for bad input: something that the user can fix, described in one line."""

import contextlib
import reprlib
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any


class InputError(ValueError):
    """A file or value breaks a documented rule.

    Commands print it as one line and exit with status 1; in Python it is a `ValueError`. The text
    is always one printable line: control characters and line breaks are escaped, and a long rule
    is shortened in the middle.

    Args:
        rule: what was expected and what was found, without a full stop.
        path: the file that breaks the rule, if any.
        line: the line of that file, counted from 1, if known.
    """

    def __init__(self, rule: str, path: object = None, line: int | None = None):
        self.rule = rule
        self.path = None if path is None else str(path)
        self.line = line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        text = printable(rule)  # which may be ten times as long
        if len(text) > _HEAD + _TAIL:
            text = f"{text[:_HEAD]} ... {text[-_TAIL:]}"
        super().__init__(printable(where) + text)


class DamagedDataError(InputError):
    """A training or held-out shard is damaged. The reader of batches does not know which one."""


@contextlib.contextmanager
def located(
    what: str = "",
    line: int | Callable[[], int | None] | None = None,
    path: Path | str | None = None,
) -> Iterator[None]:
    """Adds a location to an `InputError` of the `with` block that names no file.

    `what` is put before the rule of the error. `line` is the line, or a function that finds it and
    is only called on errors.
    """
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        number = error.line or (line() if callable(line) else line)
        raise InputError(f"{what}: {error.rule}" if what else error.rule, path, number) from None


def install(extra: str = "train") -> str:
    """The command that installs this package with an extra: in a clone, which it names if known.

    No index has the package. The extra `train` has TensorFlow and Keras.
    """
    root = Path(__file__).resolve().parent.parent
    is_clone = (root / "pyproject.toml").is_file()
    package = f"{root if is_clone else '.'}[{extra}]"
    return f"pip install {'-e ' * is_clone}{shlex.quote(package)}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the known one that is most like it, or ""."""
    import difflib

    spelled = {name.lower(): name for name in known}
    close = difflib.get_close_matches(name.lower(), spelled, 1)
    return "".join(f"; did you mean {spelled[name]}?" for name in close)


_HEAD, _TAIL = 700, 300  # characters of a rule that are shown


def printable(text: str) -> str:
    """The text as one printable line: control characters and line breaks are escaped."""
    return "".join(
        character if character.isprintable() else ascii(character)[1:-1] for character in text
    )


_SHORT = reprlib.Repr()  # safe for values of any depth
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60


def shown(value: Any) -> str:
    """The value as error messages show it: its repr, shortened."""
    try:
        return _SHORT.repr(value)
    except ValueError:
        return "an integer of thousands of digits"
