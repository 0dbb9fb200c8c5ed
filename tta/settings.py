"""Settings of a config: default, help, bounds and choices of each field, said once.

A config is a frozen dataclass whose fields are annotated with a `Setting`:

>>> @dataclass(frozen=True, kw_only=True)
... class Config:
...     num_train_steps: Annotated[int, Setting("Steps in all.", minimum=1)] = 100_000
...
...     def __post_init__(self):
...         check_settings(self)

Commands make their flags of it (`tta.cli`), and Python callers get the same defaults and rules.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from tta.errors import InputError


@dataclass(frozen=True)
class Setting:
    """What a field means, and which values it takes.

    Attributes:
        help: one or two sentences, for `--help`.
        minimum, maximum: the bounds of a number, both included; None is unbounded.
        choices: the values that a str, or each item of a list, may have; None is any.
        repeated: whether a list is given by repeating its flag; else its items are separated by
            commas.
    """

    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: Collection[str] | None = None
    repeated: bool = False


@dataclass(frozen=True)
class Field:
    """A field of a config with its `Setting`.

    Attributes:
        name: of the field, and of its flag.
        kind: bool, int, float or str; of a list, the kind of its items.
        is_list: whether the value is a list.
        default: None where there is none.
        required: whether the field has no default.
        setting: its `Setting`.
    """

    name: str
    kind: type
    is_list: bool
    default: Any
    required: bool
    setting: Setting


def fields(config: Any) -> Iterator[Field]:
    """Yields a `Field` of every annotated field of a config, or of its class."""
    config_class = config if isinstance(config, type) else type(config)
    hints = typing.get_type_hints(config_class, include_extras=True)
    for field in dataclasses.fields(config_class):
        hint = hints[field.name]
        setting = next((m for m in getattr(hint, "__metadata__", ()) if _is_setting(m)), None)
        if setting is None:
            continue
        kind = hint.__origin__
        if isinstance(kind, types.UnionType):  # `int | None`
            kind = next(part for part in kind.__args__ if part is not types.NoneType)
        is_list = typing.get_origin(kind) is list
        if is_list:
            (kind,) = typing.get_args(kind)
        required = field.default is field.default_factory is dataclasses.MISSING
        default = None if field.default is dataclasses.MISSING else field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        yield Field(field.name, kind, is_list, default, required, setting)


def check_settings(config: Any) -> None:
    """Checks every field of a config against its `Setting`.

    Raises:
        InputError: a value is out of bounds, not finite, or none of the choices.
    """
    for field in fields(config):
        value = getattr(config, field.name)
        if value is None:
            continue
        for item in value if field.is_list else [value]:
            _check(field, item)


def _check(field: Field, value: Any) -> None:
    setting = field.setting
    if setting.choices is not None and value not in setting.choices:
        raise InputError(f"{field.name} must be {' or '.join(setting.choices)}, not {value!r}")
    if field.kind is float and not math.isfinite(value):
        raise InputError(f"{field.name} must be a finite number, not {value}")
    low, high = setting.minimum, setting.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        rule = f"at least {low}" if high is None else f"at most {high}"
        if low is not None and high is not None:
            rule = f"between {low} and {high}"
        raise InputError(f"{field.name} must be {rule}, not {value}")


def _is_setting(value: object) -> bool:
    return isinstance(value, Setting)
