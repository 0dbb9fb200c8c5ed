"""A config's settings: what they declare, and which values they refuse."""

import math
import re
from dataclasses import dataclass

import pytest

from tta.errors import InputError
from tta.settings import Config, fields, setting


@dataclass(frozen=True, kw_only=True)
class Small(Config):
    path: str = setting(..., "A path.")
    size: int = setting(2, "A size.", 1)
    share: float | None = setting(None, "A share.", 0, 1)
    kind: str = setting("a", "A kind.", choices=("a", "b"))
    kinds: list[str] = setting(["a"], "Kinds.", choices=("a", "b"))
    derived: int = 0


def test_fields_say_what_flags_need():
    found = [(f.name, f.kind, f.is_list, f.default, f.required) for f in fields(Small)]
    assert found == [
        ("path", str, False, None, True),
        ("size", int, False, 2, False),
        ("share", float, False, None, False),
        ("kind", str, False, "a", False),
        ("kinds", str, True, ["a"], False),
    ]
    assert next(fields(Small(path="x"))).setting.help == "A path."


def test_a_required_setting_is_an_argument_and_a_list_is_not_shared():
    with pytest.raises(TypeError, match="path"):
        Small()
    assert Small(path="x").kinds is not Small(path="x").kinds


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"size": 0}, "size must be at least 1, not 0"),
        ({"share": 1.5}, "share must be between 0 and 1, not 1.5"),
        ({"share": math.nan}, "share must be a finite number, not nan"),
        ({"share": -math.inf}, "share must be a finite number, not -inf"),
        ({"kind": "c"}, "kind must be a or b, not 'c'"),
        ({"kinds": ["a", "c"]}, "kinds must be a or b, not 'c'"),
    ],
)
def test_a_value_that_breaks_a_rule_is_refused(values, rule):
    with pytest.raises(InputError, match=f"^{re.escape(rule)}$"):
        Small(path="x", **values)
