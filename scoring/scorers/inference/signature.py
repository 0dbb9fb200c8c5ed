"""The signature of a scorer: one line with everything that its results depend on.

Every kind of scorer lists its settings (`Scorer.settings`), and only this module writes the line.
Caches and resumed outputs compare signatures, so a setting that is left out there would give them
the scores of another model.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tta.errors import printable
from tta.version import __version__

_DIGITS = 8
_NUMBERS = (bool, int, float, str, bytes, type(None))


def signature_line(name: str, settings: Mapping[str, Any]) -> str:
    """The signature of a scorer: "model:NAME|SETTING:VALUE|...|version:VERSION".

    Args:
        name: the name of the model.
        settings: as `Scorer.settings`. Texts and numbers are shown, booleans as yes or no, and any
            other value as its `digest`.
    """
    pairs = {"model": name, **settings, "version": __version__}
    return "|".join(f"{setting}:{_shown(value)}" for setting, value in pairs.items())


def signature_text(text: str) -> str:
    """A text as signatures show it: one printable line without their separator."""
    return printable(text).replace("|", "\\x7c")


def _shown(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return signature_text(str(value)) if isinstance(value, (str, int, float)) else digest(value)


def digest(value: Any) -> str:
    """Eight hexadecimal digits that change with a value, the same in every process.

    Args:
        value: a text, bytes, a number, a boolean, None, an array, or a sequence or mapping of such
            values. The order of a mapping does not count; that of a sequence does.

    Raises:
        TypeError: a value has another type.
    """
    sha256 = hashlib.sha256()
    _update(sha256, value)
    return sha256.hexdigest()[:_DIGITS]


def _update(sha256, value):
    """Adds a value after its type and size, so that no two values add the same bytes."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        sha256.update(f"array {value.dtype.str} {value.shape}:".encode())
        sha256.update(np.ascontiguousarray(value).data)
    elif isinstance(value, Mapping):
        sha256.update(f"mapping {len(value)}:".encode())
        for key in sorted(value, key=repr):
            _update(sha256, key)
            _update(sha256, value[key])
    elif isinstance(value, _NUMBERS):
        content = value if isinstance(value, bytes) else repr(value).encode()
        sha256.update(f"{type(value).__name__} {len(content)}:".encode() + content)
    elif isinstance(value, Sequence):
        sha256.update(f"sequence {len(value)}:".encode())
        for element in value:
            _update(sha256, element)
    else:
        raise TypeError(f"a signature has no digest of {type(value).__name__}")
