"""The pictures of the docs: small, and drawn from the figures of docs/results.json."""

import json
import re

import pytest

from benchmarks import ROOT, pictures

RECORD = json.loads((ROOT / "docs/results.json").read_text(encoding="utf-8"))
FOLDER = ROOT / "docs/pictures"


def texts(path):
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_error_rates_are_those_of_the_record():
    shown = texts(FOLDER / "wer.svg")
    rows = RECORD["table1"]["rows"]
    for column in pictures.SETS:
        for row, name in pictures.ROWS.items():
            assert name in shown
            assert f"{rows[row][column]:.1f}" in shown, (row, column)


def test_the_command_draws_the_pictures_of_the_docs(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    drawn = pictures.draw(RECORD, tmp_path)
    assert {path.name for path in drawn} == {path.name for path in FOLDER.iterdir()}
    for path in drawn:
        here = FOLDER / path.name
        assert here.stat().st_size < 60_000
        assert texts(path) == texts(here)
        if f"Matplotlib v{matplotlib.__version__}," in here.read_text(encoding="utf-8"):
            assert path.read_bytes() == here.read_bytes()  # the points, too
