"""Commands and code of README and the tutorials: run, or checked where they need other files."""

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

from tests.commands import ROOT, run_command
from tta.commands import COMMANDS

README = (ROOT / "README.md").read_text(encoding="utf-8")
TUTORIALS = {path.stem: path.read_text("utf-8") for path in ROOT.glob("docs/tutorials/*.md")}
PAGES = {"README": README} | TUTORIALS
for name in ("adaptation", "reranking_files"):
    PAGES[name] = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")


def blocks(text, language):
    """The code blocks of a language in a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def commands_in(text):
    """The arguments of every line `tta COMMAND --flag ...` in blocks of code."""
    code = [*blocks(text, "bash"), *re.findall(r"(?:^ {4}.*\n)+", text, re.MULTILINE)]
    lines = "\n".join(code).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if re.match(r"\s*tta [a-z]", line)]


CHECKED = [
    pytest.param(arguments, id=f"{page}: {' '.join(arguments)[:60]}")
    for page, text in PAGES.items()
    for arguments in commands_in(text)
]


@pytest.mark.parametrize("arguments", CHECKED)
def test_every_command_has_valid_flags(arguments):
    command, *flags = arguments
    ended = run_command(f"tta-{command}", *flags, "--only_check_args")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_commands_are_found_in_every_page_that_has_some():
    assert len(CHECKED) >= 15
    assert [page for page, text in PAGES.items() if not commands_in(text)] == []


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """A folder with links to the repository, into which nothing is then written."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("configs", "examples", "run_pretraining.py", "run_rerank.py"):
        (folder / name).symlink_to(ROOT / name)
    commands = folder / "bin"
    commands.mkdir()
    modules = {"python": "", "tta": " -m tta"}
    modules |= {name: f" -m {module}" for name, module in COMMANDS.items()}
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


def test_the_quick_start_gives_the_rates_and_the_sentence_of_the_readme(clone):
    section = README.split("## Quick start\n")[1].split("\n## ")[0]
    (command,) = blocks(section, "bash")
    printed = run(clone, "bash", "-c", f"{command.strip()} --output_file=picks.json").stdout
    test = printed.split("examples/asr.test.json:")[1]
    rates = dict(re.findall(r"^(first pass|reranked) +([\d.]+)", test, re.MULTILINE))
    row = re.search(r"^reranked .*?\+([\d.]+) +\[\+([\d.]+), \+([\d.]+)\]", test, re.MULTILINE)
    shown = re.search(
        r"from ([\d.]+) to\s([\d.]+) % \(gain ([\d.]+) %, 95 % interval \[([\d.]+), ([\d.]+)\]",
        section,
    )
    assert shown.groups() == (rates["first pass"], rates["reranked"], *row.groups())
    assert float(rates["reranked"]) < 0.95 * float(rates["first pass"])
    examples = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    without_model = re.search(r"^no model +([\d.]+)", test, re.MULTILINE)[1]
    assert re.search(rf"`small` \| {rates['reranked']} \|", examples)
    assert re.search(rf"no model \| {without_model} \|", examples)

    before, after = re.findall(
        r"^\| \**(?:recogniser|reranked)\** \| (.*) \|$", section, re.MULTILINE
    )
    lists = json.loads((ROOT / "examples/asr.test.json").read_text(encoding="utf-8"))
    picks = json.loads((clone / "picks.json").read_text(encoding="utf-8"))
    found = re.search(
        r"largest change of (\d+) \((\d+) better, (\d+) worse.*: '(.*)', better\n"
        r".*\n  first pass +[\d.]+ +[\d.]+  (.*)\n  reranked +[\d.]+ +[\d.]+  (.*)\n",
        printed,
    )
    *counts, name, first, reranked = found.groups()
    assert (first, reranked) == (before, after)
    assert (lists[name]["hyp_1"]["text"], picks[name]["hyp_1"]["text"]) == (before, after)
    said = re.search(r"Of the (\d+) picks that change, (\d+) are better and (\d+) worse", section)
    assert list(said.groups()) == counts


def printed_by(code):
    """What code prints in this process, where TensorFlow is already imported."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {"__name__": "__main__"})
    return out.getvalue()


@pytest.mark.tensorflow
def test_the_training_blocks_go_from_text_to_reranked_lists_and_do_the_same_in_python(
    clone, monkeypatch
):
    monkeypatch.chdir(clone)
    (block,) = blocks(TUTORIALS["own_model"], "bash")
    # A few steps show that the files fit each other.
    block, count = re.subn(
        "_steps=100 --num_warmup_steps=10 ", "_steps=5 --num_warmup_steps=1 ", block
    )
    assert count == 1
    ended = [
        run_command(f"tta-{name}", *flags) for name, *flags in commands_in(f"```bash\n{block}```\n")
    ]
    assert [one.returncode for one in ended] == [0, 0]
    assert (clone / "runs/try/model/model.weights.h5").exists()
    assert "held-out nll" in ended[0].stderr
    tables = ended[1].stdout.split("examples/asr.test.json:")
    assert "examples/asr.dev.json: 112 lists" in tables[0]
    assert re.search(r"^reranked +\d", tables[1], re.MULTILINE)
    code = blocks(TUTORIALS["own_model"], "python")[0]
    assert "num_train_steps=20," in code
    code = code.replace("num_train_steps=20,", "num_train_steps=5,")
    assert printed_by(code).startswith("True runs/try/python ")


def test_the_code_of_the_other_tutorials_runs_and_prints_what_it_shows(clone, monkeypatch):
    code = [
        block
        for page, text in sorted(TUTORIALS.items())
        for block in blocks(text, "python")
        if page != "own_model"
    ]
    assert len(code) == 4
    monkeypatch.chdir(clone)
    printed = printed_by("\n".join(code))
    shown = re.findall(r"^ *print\(.*\)  # (.*)$", "\n".join(code), re.MULTILINE)
    assert printed.splitlines() == shown
