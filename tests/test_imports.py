"""The layout: sub-packages and their order, one direction of imports, and what stays light."""

import ast
import contextlib
import functools
import graphlib
import importlib
import os
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.commands import ROOT, python
from tta.errors import InputError

HEAVY = ("tensorflow", "tensorflow_text", "keras")

# A sub-package may import those of its room that are in a row above its own.
ORDER = {
    "data": [
        {"text"},
        {"nbest"},
        {"vocabulary"},
        {"records", "pairs"},
        {"corpus"},
    ],
    "modeling": [
        {"config"},
        {"functions"},
        {"kits"},
        {"layers"},
        {"encoders"},
        {"heads"},
        {"models"},
        {"likelihood"},
        {"objectives"},
        {"formats"},
        {"training"},
    ],
    "scoring": [
        {"notes", "metrics", "engines"},
        {"scorers", "fitting"},
        {"combining"},
        {"words"},
        {"phrases"},
        {"reports"},
        {"reranking", "minimal_pairs", "exports", "adaptation", "similarity"},
        {"server"},
    ],
    "flags": [],
    "papers": [{"table", "semfit"}, {"glue"}, {"nar", "probing"}],
}
# What a room may import besides itself and the modules of tta/.
BELOW = {
    "data": set(),
    "modeling": set(),
    "modeling.training": {"data"},  # training reads a data set
    "scoring": {"data", "modeling"},
    "flags": {"data", "modeling", "scoring"},
    "papers": {"data", "modeling", "scoring", "flags"},
    "tta": set(),
    "tta.load": {"scoring"},  # what `import tta` offers
}


def modules():
    """{dotted name: path} of every module of the package."""
    found = {}
    for folder, _, names in os.walk(ROOT / "tta", followlinks=True):
        for name in names:
            path = Path(folder, name)
            is_of_tests = path.name == "conftest.py" or path.parent.name == "tests"  # of papers/
            if path.suffix == ".py" and not is_of_tests:
                parts = path.relative_to(ROOT).with_suffix("").parts
                found[".".join(part for part in parts if part != "__init__")] = path
    return found


MODULES = modules()


def part_of(name):
    """(room, sub-package) of a module: "tta" and None outside the rooms."""
    _, room, package, *_ = [*name.split("."), None, None]
    return (room, package) if room in ORDER else ("tta", None)


@functools.cache
def nodes(path):
    """Every node of a file's syntax tree."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imports(path):
    """Yields (line, dotted name) of every import, inside functions too; "." if relative."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield node.lineno, "." * node.level + name


def target(name):
    """The module of ours that an import names, or None."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def may_import(module, name):
    (room, package), (other_room, other) = part_of(module), part_of(target(name) or name)
    below = BELOW[room] | BELOW.get(f"{room}.{package}", set())
    if module == "tta":
        below = BELOW["tta.load"]
    if other_room == "tta":  # tta.load is for scoring and flags, the command line for flags
        only = {"tta": {"scoring", "flags", "papers"}, "tta.cli": {"flags", "papers"}}.get(
            target(name)
        )
        return only is None or room in only | {"tta"}
    if other_room != room:
        return other_room in below
    level = {one: i for i, row in enumerate(ORDER[room]) for one in row}
    return not ORDER[room] or package == other or level[other] < level[package]


def test_every_part_of_a_room_has_a_place_in_the_order():
    for room, rows in ORDER.items():
        parts = {package for module in MODULES for of, package in [part_of(module)] if of == room}
        assert not rows or parts - {None} == set().union(*rows), room


def test_imports_point_down_only_and_are_absolute():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}"
        for module, path in MODULES.items()
        for line, name in imports(path)
        if name[0] == "."
        or name.split(".")[0] in ORDER
        or (name.split(".")[0] == "tta" and not may_import(module, name))
    ]
    assert not wrong, "\n".join(wrong)


def is_of_papers(name):
    return name.startswith("tta.papers.")


def names_in(path):
    """Yields (line, dotted name) of what a file imports or names as "module:attribute"."""
    yield from imports(path)
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for name in re.findall(r"\btta(?:\.\w+)+", node.value):
                yield node.lineno, name


def test_the_core_neither_imports_nor_names_what_belongs_to_papers():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for module, path in MODULES.items()
        if not is_of_papers(module)
        for line, name in names_in(path)
        if is_of_papers(target(name) or "") and (module, name) != ("tta.registry", TABLE)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_tests_of_the_core_import_nothing_of_papers():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line, name in imports(path)
        if re.match(r"(tta\.)?papers\b", name)
    ]
    assert not wrong, "\n".join(wrong)


TABLE = "tta.papers.table"  # how papers/ comes in where nothing is installed


def test_there_is_no_circular_import():
    graph = {
        module: {target(name) for _, name in imports(path)} - {None, "tta", module}
        for module, path in MODULES.items()
        if module != "tta"
    }
    order = graphlib.TopologicalSorter(graph).static_order()
    assert set(order) == set(graph)  # CycleError names the cycle


# Modules that may import TensorFlow or Keras, also inside of functions: a module, or a package.
# Everything else works where neither is installed.
# What flags/ may import besides the standard library.
LIGHT = {"tta", "shtab"}
MAY_USE_KERAS = {
    *(f"tta.modeling.{name}" for name in ("layers", "encoders", "heads", "models")),
    *(f"tta.modeling.kits.{name}" for name in ("custom_gradients", "fused", "keras")),
    *("tta.modeling.likelihood", "tta.modeling.objectives", "tta.modeling.training"),
    "tta.scoring.scorers.variants",
    *(f"tta.papers.glue.{name}" for name in ("model", "objective", "task_layers")),
    *(f"tta.papers.nar.{name}" for name in ("layers", "model", "objectives")),
    *(f"tta.papers.probing.{name}" for name in ("task_models", "task_training")),
    *(f"tta.papers.semfit.{name}" for name in ("encoder", "directions", "heads")),
    *(f"tta.papers.semfit.{name}" for name in ("inputs", "lstm", "measures")),
}
MAY_USE_TENSORFLOW = {
    "tta.data.corpus.output",
    "tta.data.records.examples",
    "tta.data.records.features",
    "tta.data.records.pipeline",
    "tta.modeling.formats.tensorflow",
    "tta.modeling.kits.fused",
    "tta.modeling.training.steps.tensorflow",
    "tta.scoring.adaptation.list_training",
    "tta.scoring.engines.tensorflow",
    "tta.scoring.exports.serving",
    *(f"tta.papers.glue.{name}" for name in ("engines", "fine_tuning")),
    "tta.papers.nar.engines",
    "tta.papers.semfit.vectors.target_vectors",
}


def is_in(module, names):
    return any(module == name or module.startswith(f"{name}.") for name in names)


def test_who_may_import_tensorflow_and_keras():
    wrong, users = [], set()
    for module, path in MODULES.items():
        room, _ = part_of(module)
        for line, name in imports(path):
            first = name.split(".")[0]
            is_tensorflow = first in ("tensorflow", "tensorflow_text", "tensorflow_serving")
            allowed = MAY_USE_TENSORFLOW | (set() if is_tensorflow else MAY_USE_KERAS)
            if is_tensorflow or first == "keras":
                users |= {one for one in allowed if is_in(module, {one})}
                is_wrong = not is_in(module, allowed) or (room == "data" and first == "keras")
            elif room == "flags":
                is_wrong = first not in LIGHT | sys.stdlib_module_names
            else:
                may = {"torch": {"tta.integrations", "tta.modeling.kits.torch"}}
                may["jax"] = {"tta.modeling.training.steps.jax"}
                is_wrong = first in may and not is_in(module, may[first])
            if is_wrong:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: imports {name}")
    assert not wrong, "\n".join(wrong)
    assert users == MAY_USE_TENSORFLOW | MAY_USE_KERAS


SPECIAL = ("__init__.py", "__main__.py")


def test_a_folder_has_few_modules():
    sizes = Counter(path.parent for path in MODULES.values() if path.name not in SPECIAL)
    sizes = {path: n for path, n in sizes.items() if path.name != "flags"}  # a file per command
    assert {str(p.relative_to(ROOT)): n for p, n in sizes.items() if n > 12} == {}


@pytest.mark.tensorflow
def test_every_place_that_a_registry_names_exists():
    places = {
        node.value
        for path in MODULES.values()
        for node in nodes(path)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"tta(\.\w+)+:\w+", node.value)
    }
    assert len(places) > 10
    for place in places:
        module, _, attribute = place.partition(":")
        with contextlib.suppress(InputError):  # a package of an extra is missing
            assert hasattr(importlib.import_module(module), attribute), place


IMPORTS = f"""
import importlib, sys
sys.modules.update(dict.fromkeys({HEAVY}))
for module in sys.argv[1:]:
    importlib.import_module(module)
    not_here = ["numpy", "scipy", "sacrebleu", "h5py"] + ["absl"] * (module == "tta")
    print(module, [name for name in not_here if name in sys.modules])
"""


def test_tta_choices_and_configs_are_light():
    modules = ["tta", "tta.modeling.config.model_types"]
    modules += sorted(m for m in MODULES if m.endswith((".config", ".options", ".choices")))
    ended = python(IMPORTS, *modules)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [f"{module} []" for module in modules]
