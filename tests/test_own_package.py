"""The package of CONTRIBUTING.md: it is installed, and its parts are there."""

import os
import re
import subprocess
import sys

import pytest

from tests.commands import ROOT, environment, python

pytestmark = pytest.mark.slow

LISTS = "u1 -> the cat sat -> -1.5\nu1 -> the cat sat down -> -1.0\nu2 -> a dog -> -2.0\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the package, as `pip install` puts it there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:toml|python)\n# (\S+)\n(.*?)```", text, re.DOTALL)
    source, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name, code in blocks:
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(code)
    assert {name for name, _ in blocks} == {
        "pyproject.toml",
        "tta_mine/__init__.py",
        "tta_mine/parts.py",
    }
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    command += ["--no-index", "--disable-pip-version-check", "--root-user-action=ignore"]
    subprocess.run([*command, f"--target={folder}", str(source)], check=True)
    return folder


def run(folder, code, *arguments, cwd):
    """Runs code where the package is installed."""
    path = os.pathsep.join([str(ROOT), str(folder)])
    return python(code, *arguments, cwd=cwd, env=environment(PYTHONPATH=path))


def test_its_format_is_detected_its_feature_is_used_and_lists_are_written(installed, tmp_path):
    (tmp_path / "a.txt").write_text(LISTS)
    code = """
from tta.data.nbest.files import read_nbest, write_nbest
from tta.scoring.combining.part import Part
from tta.scoring.metrics.metric import load_metric
lists = read_nbest("a.txt").lists
part = Part.build(lists).compared(load_metric("wer", normalize="none"))
print(part.lists.features["words"].tolist())
write_nbest("b.txt", lists, "arrows")
"""
    done = run(installed, code, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[[3.0, 4.0], [2.0, 0.0]]\n"), done.stderr
    assert (tmp_path / "b.txt").read_text() == LISTS


def test_help_names_its_format(installed, tmp_path):
    code = "from tta.flags.rerank import run; run()"
    assert "|plain|arrows" in run(installed, code, "--help", cwd=tmp_path).stdout
