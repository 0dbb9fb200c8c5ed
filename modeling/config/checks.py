"""Rules that the values of configs obey."""

import dataclasses
from collections.abc import Collection
from typing import Any

from tta.errors import InputError

MAX_LAYERS = 1_000

_CHECKED_TYPES = (str, bool, float, int, int | None, tuple[int, ...])


def require(condition: bool, rule: str, value: object) -> None:
    """Raises an InputError with the rule and the value unless the condition holds."""
    if not condition:
        raise InputError(f"{rule}, not {value}")


def require_counts(config: object, *names: str) -> None:
    """Raises an InputError unless these attributes are at least 1."""
    for name in names:
        require(getattr(config, name) >= 1, f"{name} must be at least 1", getattr(config, name))


def require_layers(config: object, name: str, what: str = "a model") -> None:
    """Raises an InputError if this attribute is above `MAX_LAYERS`: building would take hours."""
    number = getattr(config, name)
    require(number <= MAX_LAYERS, f"{what} has at most {MAX_LAYERS:,} layers", number)


def require_choice(config: object, name: str, choices: Collection[str]) -> None:
    """Raises an InputError unless this attribute is one of the choices."""
    value = getattr(config, name)
    require(value in choices, f"{name} must be {' or '.join(choices)}", repr(value))


def require_rates(config: object, *names: str) -> None:
    """Raises an InputError unless these attributes lie in [0, 1)."""
    for name in names:
        value = getattr(config, name)
        require(0.0 <= value < 1.0, f"{name} must lie in [0, 1)", value)


def require_positive(config: object, *names: str) -> None:
    """Raises an InputError unless these attributes are above 0 and finite."""
    for name in names:
        value = getattr(config, name)
        require(0.0 < value < float("inf"), f"{name} must be positive", value)


def check_types(config: Any) -> None:
    """Checks the types of a dataclass's fields, and makes tuples of the lists of a JSON file.

    Fields of other types than numbers, texts and tuples of int are left to their class.
    """
    for field in dataclasses.fields(config):
        if field.type == tuple[int, ...] and isinstance(getattr(config, field.name), list):
            object.__setattr__(config, field.name, tuple(getattr(config, field.name)))
        if field.type in _CHECKED_TYPES:
            check_type(field.name, getattr(config, field.name), field.type)


def check_type(name: str, value: Any, kind: Any) -> None:
    """Raises an InputError unless the value has the type; an int may stand for a float."""
    is_int = isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        good = isinstance(value, float) or (is_int and abs(value) <= 2**53)  # exact as a float
    elif kind in (str, bool):
        good = isinstance(value, kind)
    elif kind == tuple[int, ...]:
        good = isinstance(value, tuple) and all(type(item) is int for item in value)
    else:  # int or `int | None`
        good = is_int or (value is None and kind is not int)
    expected = "list of int" if kind == tuple[int, ...] else getattr(kind, "__name__", kind)
    require(good, f"{name} must be of type {expected}", repr(value))
