"""Reads files that a user may have edited, damaged or replaced: regular ones, JSON, tensors."""

import contextlib
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tta.errors import InputError

MAX_JSON_BYTES = 1 << 24

# Libraries raise these for damaged files, and some raise errors of their own.
_READ_ERRORS = (OSError, RuntimeError, LookupError, ValueError, TypeError)


def check_regular(path: Path | str) -> None:
    """Raises InputError if a path is a pipe or a device, which may never end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError("expected a file, got a pipe or a device", path)


@contextlib.contextmanager
def reading(
    rule: str, path: Path | str, *errors: type[Exception], missing: str | None = None
) -> Iterator[None]:
    """Turns errors in reading a file into an InputError: the rule and the error's first line.

    The file, or those of a TensorFlow checkpoint with this prefix, must be regular ones. `errors`
    are those of a library; `missing` is the rule for a file that does not exist.
    """
    for suffix in ("", ".index", ".data-00000-of-00001"):
        check_regular(f"{path}{suffix}")
    try:
        yield
    except InputError:
        raise
    except (*_READ_ERRORS, *errors) as error:
        if missing is not None and isinstance(error, FileNotFoundError):
            raise InputError(missing, path) from None
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise InputError(f"{rule}: {reason}", path) from None


def read_json_object(path: Path | str) -> dict[str, Any]:
    """The JSON object in a file.

    Raises InputError if the file is missing, a pipe, larger than 16 MiB, or not a JSON object.
    """
    check_regular(path)
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_JSON_BYTES + 1)
        if len(content) > MAX_JSON_BYTES:
            raise InputError(f"expected JSON of at most {MAX_JSON_BYTES:,} bytes", path)
        values = json.loads(content.decode("utf-8"))
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path) from None
    except UnicodeDecodeError:
        raise InputError("not UTF-8 text", path) from None
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path, error.lineno) from None
    except RecursionError:
        raise InputError("JSON nested too deeply", path) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"not JSON: {error}", path) from None
    if not isinstance(values, dict):
        raise InputError(f"expected a JSON object, found {type(values).__name__}", path)
    return values


def read_tensors(path: Path | str, missing: str = "no such file") -> dict[str, Any]:
    """{name: NumPy array} of a safetensors file.

    Raises InputError if there is no such file, which `missing` says; it is a pipe, or not a
    readable safetensors file.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    with reading("not a readable safetensors file", path, SafetensorError, missing=missing):
        return load_file(path)
