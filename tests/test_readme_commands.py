"""The README's quick start and its training blocks, run as a user copies them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tta.commands import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(section, language):
    """The first block of a language in a section of the README."""
    text = README.split(f"## {section}\n")[1]
    return re.search(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)[1]


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A folder with links to the repository, into which nothing is then written."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("configs", "examples", "run_pretraining.py", "run_rerank.py"):
        (folder / name).symlink_to(ROOT / name)
    commands = folder / "bin"
    commands.mkdir()
    modules = {"python": "", **{name: f" -m {module}" for name, module in COMMANDS.items()}}
    for name, module in modules.items():
        path = commands / name
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{module} "$@"\n')
        path.chmod(0o755)
    return folder


def run(clone, *command):
    """The finished process of a command, which finds `python` and the installed commands."""
    ended = subprocess.run(
        command,
        cwd=clone,
        env=os.environ
        | {
            "PATH": f"{clone / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended


def test_the_quick_start_prints_the_rates_of_the_readme_s_table(clone):
    (command,) = re.findall("^python run_.*$", block("Quick start", "bash"), re.MULTILINE)
    test = run(clone, "bash", "-c", command).stdout.split("examples/asr.test.json:")[1]
    printed = dict(
        re.findall(r"^(first pass|no model|reranked|oracle) +([\d.]+)", test, re.MULTILINE)
    )
    (row,) = re.findall(r"^\| `examples/`.*WER % \|(.*)\|$", README, re.MULTILINE)
    first, no_model, _, _, learned, oracle, _ = (cell.strip() for cell in row.split("|"))
    expected = {"first pass": first, "no model": no_model, "reranked": learned, "oracle": oracle}
    assert printed == expected


def test_the_training_blocks_go_from_text_to_reranked_lists_and_do_the_same_in_python(clone):
    ended = run(clone, "bash", "-euo", "pipefail", "-c", block("Train your own model", "bash"))
    assert (clone / "runs/try/model/model.weights.h5").exists()
    assert "held-out nll" in ended.stderr
    tables = ended.stdout.split("examples/asr.test.json:")
    assert "examples/asr.dev.json: 60 lists" in tables[0]
    assert re.search(r"^reranked +\d", tables[1], re.MULTILINE)
    ended = run(clone, "python", "-c", block("Train your own model", "python"))
    assert ended.stdout.startswith("True runs/try/python ")
