"""The documentation site: it builds without a warning, and README stays short."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tta.commands import COMMANDS
from tta.modeling.config.model_types import HEADS, MODEL_TYPES

ROOT = Path(__file__).resolve().parent.parent


EXPERIMENTS = {*ROOT.glob("docs/experiments/*.md")}
# The most words of README, of the records of experiments, and of all other pages in docs/, counted
# as `wc -w` does. A page that grows takes words from another one.
LIMITS = {
    "README": (1_200, {ROOT / "README.md"}),
    "docs/experiments": (9_000, EXPERIMENTS),
    "docs, others": (21_600, {*ROOT.glob("docs/**/*.md")} - EXPERIMENTS),
}


@pytest.mark.parametrize("name", LIMITS)
def test_the_docs_stay_short(name):
    most, pages = LIMITS[name]
    counts = {
        str(page.relative_to(ROOT)): len(page.read_text(encoding="utf-8").split()) for page in pages
    }
    assert sum(counts.values()) <= most, counts


def test_pages_that_texts_and_code_name_exist():
    """Links are checked by the site; this finds plain names such as docs/scoring.md."""
    command = ["git", "ls-files", "*.md", "*.py", "*.sh"]
    files = subprocess.check_output(command, cwd=ROOT, text=True).split()
    named = {
        (file, page)
        for file in files
        for page in re.findall(r"\bdocs/[\w/-]+\.md", (ROOT / file).read_text(encoding="utf-8"))
    }
    assert len(named) > 50
    assert [(file, page) for file, page in named if not (ROOT / page).exists()] == []


def test_the_records_of_experiments_say_so_on_top():
    assert len(EXPERIMENTS) > 5
    for page in EXPERIMENTS:
        lines = page.read_text(encoding="utf-8").splitlines()
        assert lines[2].startswith("> Records of measurements, each at the date"), page


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site. It has every page of docs/, and a link to a missing page is an error."""
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet, with which --strict sees no warnings.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_every_command_and_every_key_is_in_the_reference(site):
    commands = (site / "reference/commands/index.html").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f'id="{name}"' in commands
    assert "--nbest_file=FILE" in commands
    keys = (site / "reference/config/index.html").read_text(encoding="utf-8")
    for name in (*MODEL_TYPES, *HEADS):
        assert f"{name}" in keys
    assert "num_tower_layers" in keys


def test_the_python_face_is_made_from_docstrings(site):
    page = (site / "reference/python/index.html").read_text(encoding="utf-8")
    for name in ("tta.load", "Scorer.score", "Scorer.encode", "in_memory.rerank"):
        assert name in page
    assert "The built-in model" in (site / "index.html").read_text(encoding="utf-8")
