"""The pictures of the docs: small, and drawn from the figures of docs/results.json or a page."""

import json
import re

import matplotlib
import pytest
from PIL import Image

from benchmarks import ROOT, pictures, report_picture

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
    drawn = pictures.draw(RECORD, tmp_path)
    of_others = {"dev_size.svg", "reliability.svg", "words.svg"}  # dev_size, confidence
    assert {path.name for path in drawn} == {path.name for path in FOLDER.glob("*.svg")} - of_others
    for path in drawn:
        here = FOLDER / path.name
        assert here.stat().st_size < 60_000
        assert texts(path) == texts(here)
        if f"Matplotlib v{matplotlib.__version__}," in here.read_text(encoding="utf-8"):
            assert path.read_bytes() == here.read_bytes()  # the points, too


PAGE = """<style>@media (prefers-color-scheme: dark) { body { background: black; } }
body { margin: 0; } .card { height: 1000px; }</style><div class="card">
</div><div class="card"></div><div class="card"></div>"""


@pytest.mark.large
def test_the_picture_of_a_page_is_light_and_ends_after_two_changes(browser, tmp_path):
    page, picture = tmp_path / "page.html", tmp_path / "new" / "page.png"
    page.write_text(PAGE)
    report_picture.draw(browser, page, picture)
    with Image.open(picture) as drawn:
        assert drawn.size == (report_picture.WIDTH, 2000 + report_picture.MARGIN)
        assert drawn.convert("L").getextrema() == (255, 255)


def test_the_picture_of_the_report_is_small_and_complete():
    path = FOLDER / "report.png"
    assert path.stat().st_size < 150_000
    with Image.open(path) as drawn:
        assert drawn.width == report_picture.WIDTH
        assert drawn.height > 1_000
        assert drawn.convert("RGB").getpixel((0, 0)) == (255, 255, 255)
