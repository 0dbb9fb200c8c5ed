"""The flags of run_pretraining.py that heads bring: those settings that they name in `flags`."""

import dataclasses
from typing import Any

from tta.modeling.config.heads import HEADS
from tta.settings import Config, fields, setting


def _flags():
    for settings in map(HEADS.load, HEADS):
        for field in fields(settings):
            if field.name in settings.flags:
                yield field.name, field.kind | None, setting(None, field.setting, group="Objective")


# A base class of settings. None of a flag means the value of the config file, else the default.
HeadFlags: Any = dataclasses.make_dataclass(
    "HeadFlags", list(_flags()), bases=(Config,), frozen=True, kw_only=True
)


def head_changes(flags: Config) -> dict[str, Any]:
    """The settings of heads that were given as flags: {name: value}."""
    names = (field.name for field in dataclasses.fields(HeadFlags))
    given = {name: getattr(flags, name) for name in names}
    return {name: value for name, value in given.items() if value is not None}
