"""The names that `import tta` offers: options, an unchanged process, the README's block."""

import inspect
import os
import re
import subprocess
import sys
from dataclasses import asdict, fields

import pytest

import tta
from tests.commands import ROOT
from tta.scoring.scorers.options import ScoreOptions
from tta.standard_streams import NOTE


def run(*arguments, folder):
    """Runs Python. `stderr` lacks the notes of TensorFlow, which `import tta` does not hide."""
    quiet = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=quiet)
    lines = done.stderr.splitlines(keepends=True)
    done.stderr = "".join(line for line in lines if not NOTE.match(line.encode()))
    return done


def test_import_tta_does_not_change_the_process():
    code = """
import os, sys
before = dict(os.environ), list(sys.meta_path), list(sys.path_hooks)
import tta
print((dict(os.environ), sys.meta_path, sys.path_hooks) == before)
"""
    # Not the variables of this process, which has imported tta.
    clean = {"PYTHONPATH": str(ROOT)}
    found = subprocess.check_output([sys.executable, "-c", code], env=clean, text=True)
    assert found == "True\n"


def test_dir_shows_the_public_names_only(tmp_path):
    done = run(
        "-c", "import tta, tta.errors; print(dir(tta) == sorted(tta.__all__))", folder=tmp_path
    )
    assert done.stdout == "True\n"


def test_the_options_of_load_are_those_of_the_commands():
    _, *options = inspect.signature(tta.load).parameters.values()
    expected = {field.name: (field.default, field.type) for field in fields(ScoreOptions)}
    assert {one.name: (one.default, one.annotation) for one in options} == expected
    assert {one.kind for one in options} == {inspect.Parameter.KEYWORD_ONLY}
    for name in expected:
        assert f"    {name}: " in (inspect.getdoc(tta.load) or ""), name


def test_load_passes_its_options_on(monkeypatch):
    options = ScoreOptions(
        long_sentences="refuse",
        batch_tokens=7,
        precision="int8",
        engine="onnxruntime",
        device="cuda",
        threads=3,
        normalizer="auto",
        pll_variant="maskless",
        score_boundary_tokens=True,
        unknown="model",
        begin_token="<s>",
        cache="scores.db",
    )
    assert all(getattr(options, field.name) != field.default for field in fields(ScoreOptions))
    monkeypatch.setattr("tta.scoring.scorers.load.load_scorer", lambda *arguments: arguments)
    assert tta.load("small", **asdict(options)) == ("small", options)


def test_the_names_of_the_package():
    for name in tta.__all__:
        assert getattr(tta, name) is not None
    with pytest.raises(AttributeError, match=r"^module 'tta' has no attribute 'reranked'$"):
        tta.reranked  # noqa: B018


def readme_blocks():
    """The ```python blocks of the README's section "In Python"; the second needs TensorFlow."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## In Python\n")[1]
    return re.findall(r"```python\n(.*?)```", section.split("\n## ")[0], re.DOTALL)


@pytest.mark.parametrize("light", [True, pytest.param(False, marks=pytest.mark.tensorflow)])
def test_the_readme_blocks_run_as_they_stand_are_quiet_and_show_what_they_print(tmp_path, light):
    """A line `print(...)  # text` prints the text. The first block runs as README installs."""
    first, second = readme_blocks()
    code = first if light else first + second
    without = "import sys\nsys.modules['tensorflow'] = None\n" if light else ""
    done = run("-c", without + code, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    shown = re.findall(r"^ *print\(.*\)  # (.*)$", code, re.MULTILINE)
    assert len(shown) > 3
    assert done.stdout.splitlines() == shown


@pytest.mark.slow
def test_the_process_pool_of_the_docs_works(tmp_path):
    text = (ROOT / "docs/scorers.md").read_text(encoding="utf-8")
    (block,) = (one for one in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Pool" in one)
    path = tmp_path / "pool.py"  # a file, because the processes import it
    path.write_text(block)
    done = run(str(path), folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [float(line) for line in done.stdout.split()] == pytest.approx(
        tta.load().score(["the cat sat on the mat", "a dog runs"]).tolist(), abs=1e-4
    )
