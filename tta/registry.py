"""Choices by name. The object that a name stands for is imported when it is first requested.

Packages bring entries, in a table of strings that imports nothing:
`TABLE = {"format": {"mine": "my_package.lists:MyFormat"}, ...}`, whose keys are among `PARTS`. An
entry point of the group `tta.plugins` names it; `tta.papers.table` needs none. CONTRIBUTING.md has
a whole package.
"""

import contextlib
import functools
import importlib
import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from tta.errors import InputError, shown

GROUP = "tta.plugins"
PARTS = ("model_type", "output_layer", "objective", "kind of model", "format", "list feature")
PARTS += ("metric", "token feature", "held-out measure", "sampling", "export", "command")
OWN = "tta-lm"  # the distribution that brings this package and papers/
_PLACE = re.compile(r"\w+(\.\w+)*(:\w+)?")


class Registry(MutableMapping[str, Any]):
    """Maps names to objects, or to the places they are imported from.

    The names can be read without importing what they stand for: flags use them as their choices.
    An entry may be added at run time: `MODEL_TYPES["mine"] = ModelType(...)`. Tables of packages
    are read when all names are asked for, or one that is not in `entries`.

    Args:
        what: what a name is called in errors, such as "model_type". With one of `PARTS`, packages
            bring entries, too.
        entries: {name: an object, or "module:attribute", or "module"}.

    Raises:
        InputError: a table of a package is no such table, or has a name that is taken.
    """

    def __init__(self, what: str, entries: Mapping[str, Any]):
        self.what, self._entries = what, dict(entries)
        self._packages: dict[str, str] | None = None  # {name: its package}, once they are read

    def __getitem__(self, name: str) -> Any:
        return self._entries[name] if name in self._entries else self._all()[name]

    def __setitem__(self, name: str, entry: Any) -> None:
        self._all()[name] = entry

    def __delitem__(self, name: str) -> None:
        del self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def load(self, name: str) -> Any:
        """The object of that name. Raises InputError if there is none, or a package's is broken."""
        if name not in self:
            rule = f"{self.what} must be {' or '.join(self)}, not {name!r}"
            raise InputError(rule if self else f"no package has the {self.what} {name!r}")
        with _named((self._packages or {}).get(name, OWN), f"{self.what} {name!r}"):
            return resolve(self[name])

    def _all(self):
        """The entries with those of packages."""
        if self._packages is None:
            entries, packages = dict(self._entries), {}
            for package, table in _tables() if self.what in PARTS else ():
                for name, place in table.get(self.what, {}).items():
                    if entries.setdefault(name, place) != place:
                        rule = f"{self.what} {name!r} is already of {packages.get(name, OWN)}"
                        raise InputError(f"package {package}: {rule}")
                    packages.setdefault(name, package)
            self._entries, self._packages = entries, packages
        return self._entries


@contextlib.contextmanager
def _named(package, what):
    """Says in one line that a part of another package, whose code may do anything, is broken."""
    try:
        yield
    except Exception as error:
        if package == OWN:
            raise
        reason = str(error) or type(error).__name__
        raise InputError(f"package {package}: {what} cannot be imported: {reason}") from error


@functools.cache
def _tables() -> list[tuple[str, Mapping[str, Mapping[str, str]]]]:
    """(package, table) of each package that brings entries; papers/ comes first, if it is there."""
    from importlib.metadata import entry_points  # slow, and most runs need no names of packages

    plugins = []
    try:
        plugins.append((OWN, importlib.import_module("tta.papers.table").TABLE))
    except ModuleNotFoundError as error:
        if error.name not in ("tta.papers", "tta.papers.table"):
            raise
    points = [
        (point.dist.name if point.dist else "?", point) for point in entry_points(group=GROUP)
    ]
    for package, entry_point in sorted(points, key=lambda point: (point[0], point[1].name)):
        with _named(package, f"{GROUP} {entry_point.value}"):
            table = entry_point.load()
        if wrong := _wrong(table):
            raise InputError(f"package {package}: {entry_point.value} {wrong}")
        plugins.append((package, table))
    return plugins


def _wrong(table):
    """What is wrong with a table of a package; None if nothing is."""
    if not (
        isinstance(table, Mapping)
        and all(isinstance(entries, Mapping) for entries in table.values())
    ):
        return f"must be a table {{part: {{name: place}}}}, not {shown(table)}"
    for what, entries in table.items():
        if what not in PARTS:
            return f"has the part {shown(what)}; the parts are {', '.join(PARTS)}"
        for name, place in entries.items():
            if not (isinstance(name, str) and isinstance(place, str) and _PLACE.fullmatch(place)):
                rule = f"must say where {what} {shown(name)} is: module:attribute"
                return f"{rule}, not {shown(place)}"
    return None


def resolve(entry: Any) -> Any:
    """The object at "module:attribute", or a module; what is not a str is returned unchanged."""
    if not isinstance(entry, str):
        return entry
    module, _, attribute = entry.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded
