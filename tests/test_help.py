"""The text of --help: what it says of a flag, the order of flags, and its width."""

from dataclasses import dataclass

import pytest

from tta.help import help_text
from tta.settings import OVERWRITE, Config, setting


@dataclass(frozen=True, kw_only=True)
class Files(Config):
    vocab_file: str = setting(..., "A vocabulary.", group="Files")
    rates: list[float] | None = setting(None, "Rates.", 0)
    input_dir: str = setting(..., "A folder.")
    overwrite: bool = setting(False, OVERWRITE)


@dataclass(frozen=True, kw_only=True)
class Training(Config):
    steps: int = setting(0, "Steps.", 0, 9, group="Training")
    kinds: list[str] = setting(["a"], "Kinds.", choices=("a", "b"))
    names: list[str] | None = setting(None, "Names.", repeated=True, group="Files")
    cased: bool = setting(True, "Keep case.", group="Training")
    share: float | None = setting(None, "A share.", maximum=1)


EXPECTED = """\
Does it.

Required flags:
  --vocab_file=FILE
      A vocabulary.
  --input_dir=DIR
      A folder.

Files:
  --rates=NUMBER,...
      Rates. [at least 0; may be repeated]
  --names=NAMES
      Names.

Training:
  --steps=INTEGER
      Steps. [default: 0; between 0 and 9]
  --kinds=a|b,...
      Kinds. [default: a; may be repeated]
  --[no]cased
      Keep case. [default: true]
  --share=NUMBER
      A share. [at most 1]

Common flags:
  --[no]overwrite
      Replace output files that exist.
  --flagfile=FILE
      Read flags from a file, one per line; # begins a comment, also after a
      flag. Flags after --flagfile replace those of the file, lists too, and the
      file's replace those before it.
  -h, --help
      Show this help. --helpfull adds the flags of absl.
  --version
      Show the version.
"""


def test_required_flags_first_then_groups_then_common_flags():
    assert help_text("Does it.\n", [Files, Training]) == EXPECTED


def test_without_configs_only_the_common_flags():
    shown = help_text("Does it.", [])
    assert shown.startswith("Does it.\n\nCommon flags:\n  --flagfile=FILE\n")


@pytest.mark.parametrize(("columns", "widest"), [(50, 50), (300, 100)])
def test_lines_fit_the_terminal_and_are_readable(columns, widest, monkeypatch):
    @dataclass(frozen=True, kw_only=True)
    class Long(Config):
        name: str = setting("a-b", "ab-cdef " * 100)

    monkeypatch.setenv("COLUMNS", str(columns))
    lines = help_text("Does it.", [Long]).splitlines()
    assert widest - 8 < max(map(len, lines)) <= widest
    assert not any(line.endswith("-") for line in lines)
