"""A config's settings: what they declare, and which values they refuse."""

import math
import re
from dataclasses import dataclass

import pytest

from tta.errors import InputError
from tta.settings import Config, check_outputs, fields, setting


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


@dataclass(frozen=True, kw_only=True)
class Files(Config):
    input_file: list[str] | None = setting(None, "Inputs.")
    output_file: str | None = setting(None, "An output.", writes=True)
    overwrite: bool = setting(False, "Replace it.")


@dataclass(frozen=True, kw_only=True)
class Model(Config):
    model: str | None = setting(None, "A model.")


@pytest.mark.parametrize(
    ("inputs", "output"),
    [
        ("text", "text"),
        ("text", "./folder/../text"),
        ("text", "link"),
        ("link", "text"),
        ("text", "hard"),
        ("other,text", "text"),
        ("te*t", "text"),
        ("text.scores", "text"),  # the costs of a Kaldi list go there
        ("folder", "folder/config.json"),
        ("folder", "link_to_config"),
        ("folder", "folder/1best_recog/text"),
    ],
)
def test_an_input_is_not_replaced(inputs, output, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder/1best_recog").mkdir(parents=True)
    for name in ("text", "text.scores", "folder/config.json", "folder/1best_recog/text"):
        (tmp_path / name).touch()
    (tmp_path / "link").symlink_to("text")
    (tmp_path / "hard").hardlink_to("text")
    (tmp_path / "link_to_config").symlink_to("folder/config.json")
    config = {"input_file": inputs.split(","), "output_file": output}
    rule = "output_file is the same file as input_file, and an input is not replaced"
    with pytest.raises(InputError, match=f"^{re.escape(output)}: {rule}$"):
        Files(**config, overwrite=True)
    Files(**config)  # An existing file is refused where it is written.
    output_only = Files(output_file=output, overwrite=True)
    with pytest.raises(InputError, match="is the same file as model"):
        check_outputs(output_only, Model(model=f"kenlm:{inputs.split(',')[-1]}"))


@pytest.mark.parametrize("output", ["new", "folder/notes.txt", "-", "/dev/null", None])
def test_other_outputs_are_replaced(output, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("text", "folder/notes.txt", "folder/config.json"):
        (tmp_path / name).touch()
    Files(input_file=["text", "folder", "-", "/dev/null"], output_file=output, overwrite=True)
