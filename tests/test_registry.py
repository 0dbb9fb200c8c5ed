"""Packages bring entries of registries; what is wrong with their tables is one line."""

import json
import os

import pytest

from tests.commands import ROOT, environment, python
from tta import registry
from tta.errors import InputError
from tta.registry import PARTS, Registry

NAMES = """
import json, sys
from tta.data.nbest.formats import FORMATS
print(json.dumps([list(FORMATS), "mine.lists" in sys.modules]))
"""


def package(folder, name, code, entry="mine:TABLE", **modules):
    """An installed package: a module or package "mine", and an entry point."""
    info = folder / f"{name}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[tta.plugins]\nany = {entry}\n")
    module = folder / entry.partition(":")[0]
    module.mkdir(exist_ok=True)
    (module / "__init__.py").write_text(code)
    for one, text in modules.items():
        (module / f"{one}.py").write_text(text)


def with_packages(folder, code, *arguments):
    path = os.pathsep.join([str(ROOT), str(folder)])
    return python(code, *arguments, cwd=folder, env=environment(PYTHONPATH=path))


def test_the_names_of_a_package_are_choices_and_nothing_of_it_is_imported(tmp_path):
    package(tmp_path, "mine", 'TABLE = {"format": {"mine": "mine.lists:Mine"}}', lists="1 / 0")
    shown = with_packages(tmp_path, NAMES)
    assert shown.returncode == 0, shown.stderr
    names, is_imported = json.loads(shown.stdout)
    assert (names[-1], is_imported) == ("mine", False)
    assert "kaldi" in names


TABLES = [  # the code of a package, its error after "package mine: "
    ("1 / 0", "tta.plugins mine:TABLE cannot be imported: division by zero"),
    ("", "tta.plugins mine:TABLE cannot be imported: module 'mine' has no attribute 'TABLE'"),
    ("TABLE = ['mine']", "mine:TABLE must be a table {part: {name: place}}, not ['mine']"),
    ("TABLE = {'formats': {}}", "mine:TABLE has the part 'formats'; the parts are model_type, "),
    ("TABLE = {'format': 'm:A'}", "mine:TABLE must be a table {part: {name: place}}, not {'format"),
    ("TABLE = {'format': {'a': dict}}", "mine:TABLE must say where format 'a' is: module:attr"),
    ("TABLE = {'format': {'a': 'm A'}}", "mine:TABLE must say where format 'a' is: module:"),
    ("TABLE = {'format': {'kaldi': 'm:A'}}", "format 'kaldi' is already of tta-lm"),
    ("TABLE = {'command': {'tta-score': 'm'}}", "command 'tta-score' is already of tta-lm"),
]


@pytest.mark.parametrize(("code", "rule"), TABLES, ids=[code for code, _ in TABLES])
def test_a_broken_table_is_one_line_that_names_the_package(tmp_path, code, rule):
    package(tmp_path, "mine", code)
    module = "tta.flags.rerank" if "format" in code else "tta.__main__"
    ended = with_packages(tmp_path, f"from {module} import run; run()", "--help")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1), ended.stderr
    assert ended.stderr.startswith(f"error: package mine: {rule}")


def test_a_broken_table_of_a_head_ends_the_import_of_a_command_in_one_line(tmp_path):
    """The flags of a command are heads' settings, which are read where it is imported."""
    code = 'TABLE = {"output_layer": {"mine": "mine.heads:Settings"}}'
    package(tmp_path, "mine", code, heads="import nothing_there")
    ended = with_packages(tmp_path, "from tta.flags.pretraining import run; run()", "--help")
    rule = "output_layer 'mine' cannot be imported: No module named 'nothing_there'"
    assert (ended.returncode, ended.stderr) == (1, f"error: package mine: {rule}\n")


def test_two_packages_with_one_name_are_both_named(tmp_path):
    for name, place in (("first", "a:A"), ("second", "b:B")):
        package(tmp_path, name, f'TABLE = {{"format": {{"x": "{place}"}}}}', f"{name}:TABLE")
    ended = with_packages(tmp_path, NAMES)
    rule = "package second: format 'x' is already of first\n"
    assert ended.stderr.endswith(f"InputError: {rule}")


def test_a_name_that_packages_agree_on_is_no_error(tmp_path):
    for name in ("first", "second"):
        package(tmp_path, name, 'TABLE = {"format": {"x": "a:A"}}', f"{name}:TABLE")
    names, _ = json.loads(with_packages(tmp_path, NAMES).stdout)
    assert names.count("x") == 1


def test_tables_are_read_only_where_a_name_is_not_ours(monkeypatch):
    def fail():
        raise AssertionError("read")

    monkeypatch.setattr(registry, "_tables", fail)
    ours = Registry("format", {"a": "os.path:join"})
    assert ours.load("a") is os.path.join
    assert "a" in ours
    assert ours["a"] == "os.path:join"
    for ask in (lambda: list(ours), lambda: "b" in ours, lambda: len(ours)):
        with pytest.raises(AssertionError, match=r"^read$"):
            ask()
    closed = Registry("colour", {"a": 1})  # which is not among PARTS
    assert ("colour" not in PARTS, list(closed), "b" in closed) == (True, ["a"], False)


@pytest.mark.parametrize(
    ("place", "rule"),
    [
        ("nothing_there:A", "No module named 'nothing_there'"),
        ("os:nothing_there", "module 'os' has no attribute 'nothing_there'"),
    ],
)
def test_a_part_that_is_not_there_names_the_package(monkeypatch, place, rule):
    monkeypatch.setattr(registry, "_tables", lambda: [("mine", {"format": {"x": place}})])
    ours = Registry("format", {"a": place})
    with pytest.raises(InputError) as raised:
        ours.load("x")
    assert str(raised.value) == f"package mine: format 'x' cannot be imported: {rule}"
    with pytest.raises((ModuleNotFoundError, AttributeError)):  # of our own, a fault of ours
        ours.load("a")


def test_entries_are_added_replaced_and_removed(monkeypatch):
    monkeypatch.setattr(registry, "_tables", lambda: [("mine", {"format": {"x": "os"}})])
    ours = Registry("format", {"a": 1})
    ours["b"] = 2
    ours["x"] = 3
    assert dict(ours) == {"a": 1, "x": 3, "b": 2}
    del ours["a"], ours["x"]
    assert dict(ours) == {"b": 2}
    with pytest.raises(InputError, match=r"^format must be b, not 'a'$"):
        ours.load("a")
    monkeypatch.setattr(registry, "_tables", list)
    with pytest.raises(InputError, match=r"^no package has the format 'a'$"):
        Registry("format", {}).load("a")


def test_without_papers_the_core_has_its_own_names_only(tmp_path):
    code = """
import sys
sys.modules["tta.papers"] = None
from tta.modeling.config.model_types import HEADS, MODEL_TYPES
from tta.commands import COMMANDS
print([*MODEL_TYPES, *HEADS, "tta-probe" in COMMANDS])
"""
    ours = ["tta", "bilm", "unilm", "cloze", "tied_softmax", "softmax", False]
    assert python(code, check=True).stdout == f"{ours}\n"
