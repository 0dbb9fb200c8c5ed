"""Reads files that a user may have edited, damaged or replaced: regular ones, JSON, tensors."""

import json
import os
import stat
from pathlib import Path
from typing import Any

from tta.errors import InputError

MAX_JSON_BYTES = 1 << 24


def check_regular(path: Path | str) -> None:
    """Raises InputError if a path is a pipe or a device, which may never end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError("expected a file, got a pipe or a device", path)


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

    check_regular(path)
    try:
        return load_file(path)
    except FileNotFoundError:
        raise InputError(missing, path) from None
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        rule = str(error).partition("\n")[0]
        raise InputError(f"not a readable safetensors file: {rule}", path) from None
