"""The text of an error, for any content of a file."""

import runpy
import shlex

import pytest

from tests.commands import ROOT
from tta.errors import InputError, install


@pytest.mark.parametrize(
    ("rule", "shown"),
    [
        ("plain", "a:3: plain"),
        ("got 'é — 猫'", "a:3: got 'é — 猫'"),
        ("two\nlines\r", r"a:3: two\nlines\r"),
        ("\x1b[31mred\u2028\udcff", r"a:3: \x1b[31mred\u2028\udcff"),
        ("x" * 5000, "a:3: " + "x" * 700 + " ... " + "x" * 300),
    ],
)
def test_an_error_is_one_printable_line(rule, shown):
    error = InputError(rule, "a", 3)
    assert str(error) == shown
    assert error.rule == rule
    assert str(error).isprintable()


def test_the_command_that_installs_an_extra_works_in_a_clone_too(tmp_path):
    assert shlex.split(install("report")) == ["pip", "install", "-e", f"{ROOT}[report]"]
    copy = tmp_path / "tta/errors.py"
    copy.parent.mkdir()
    copy.write_text((ROOT / "tta/errors.py").read_text())
    installed = runpy.run_path(str(copy))["install"]
    assert [installed("report"), installed()] == [
        "pip install '.[report]'",
        "pip install '.[train]'",
    ]
