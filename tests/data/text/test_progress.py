"""Progress: a bar on a terminal, whole lines in a log, and nothing of what is done in a minute."""

import glob
import re
import sys

import pytest

from tests.commands import ROOT
from tta.data.text import progress
from tta.data.text.progress import tqdm


def work(steps=9, **options):
    with tqdm(total=steps, desc="scoring", **options) as bar:
        for _ in range(steps):
            bar.update(1)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_only_a_terminal_shows_work_of_less_than_a_minute(is_terminal, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    work()
    assert ("scoring: 100%" in capsys.readouterr().err) is is_terminal


@pytest.mark.parametrize("options", [{}, {"mininterval": 5.0}, {"delay": 0.0}])
def test_a_log_gets_whole_lines(options, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS", 1e-9)
    options.setdefault("delay", 1e-9)
    work(**options)
    shown = capsys.readouterr().err
    assert "\r" not in shown
    lines = shown.splitlines()
    assert any("4/9" in line for line in lines), shown
    assert all(line.startswith("scoring: ") for line in lines if line)


def test_a_log_gets_one_line_a_minute(capsys):
    clock = iter(range(0, 900, 20))
    made = progress.tqdm(total=9)
    made._time = lambda: next(clock)
    with made:
        made.start_t = made.last_print_t = 0
        for _ in range(9):
            made.miniters = 0
            made.update(1)
    lines = [line for line in capsys.readouterr().err.splitlines() if line]
    assert 2 <= len(lines) <= 5, lines


def test_a_disabled_bar_shows_nothing(capsys, monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS", 0.0)
    work(disable=True, delay=0.0)
    assert capsys.readouterr().err == ""


def test_every_bar_is_one_of_these():
    found = [
        path
        for path in glob.glob("**/*.py", root_dir=ROOT / "tta", recursive=True)  # follows links
        if re.search(r"(?m)^\s*(from|import) tqdm", (ROOT / "tta" / path).read_text())
    ]
    assert found == ["data/text/progress.py"]
