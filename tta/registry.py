"""Choices by name. The object that a name stands for is imported when it is first requested."""

import importlib
from collections.abc import Mapping
from typing import Any

from tta.errors import InputError


class Registry(dict[str, Any]):
    """Maps names to objects, or to the places they are imported from.

    The names can be read without importing anything: flags use them as their choices. An entry may
    be added at run time: `MODEL_TYPES["mine"] = ModelType(...)`.

    Args:
        what: what a name is called in errors, such as "model_type".
        entries: {name: an object, or "module:attribute"}.
    """

    def __init__(self, what: str, entries: Mapping[str, Any]):
        super().__init__(entries)
        self.what = what

    def load(self, name: str) -> Any:
        """The object of that name. Raises InputError if there is no such name."""
        if name not in self:
            raise InputError(f"{self.what} must be {' or '.join(self)}, not {name!r}")
        return resolve(self[name])


def resolve(entry: Any) -> Any:
    """The object at "module:attribute"; anything that is not a str is returned unchanged."""
    if not isinstance(entry, str):
        return entry
    module, _, attribute = entry.partition(":")
    return getattr(importlib.import_module(module), attribute)
