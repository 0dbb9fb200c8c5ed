"""The pictures of the docs: small, and drawn from the measured figures or from a page."""

import json
import re

import matplotlib
import pytest
from PIL import Image

import tta
from benchmarks import ROOT, align_picture, pictures, report_picture

RECORD = json.loads((ROOT / "docs/results.json").read_text(encoding="utf-8"))
EVALUATION = json.loads((ROOT / "docs/evaluation.json").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")
FOLDER = ROOT / "docs/pictures"


def texts(path):
    return re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8"))


def test_the_picture_of_readme_has_the_figures_of_its_table():
    shown = texts(FOLDER / "wer.svg")
    drawn = [text for text in shown if re.fullmatch(r"\d+\.\d\d", text)]
    table = README.partition("| list | metric |")[2].partition("\n\n")[0]
    lines = [line for line in table.splitlines()[2:] if "adapted" not in line]
    assert drawn == [cell for line in lines for cell in re.findall(r"\| (\d+\.\d\d) (?=\|)", line)]
    assert len(drawn) == len(pictures.SETS) * len(pictures.ROWS)
    assert {*pictures.SETS.values(), *pictures.ROWS} <= set(shown)


@pytest.mark.slow
def test_the_command_draws_the_pictures_of_the_docs(tmp_path):
    drawn = pictures.draw(RECORD, EVALUATION, tmp_path)
    of_others = {"dev_size.svg", "reliability.svg", "words.svg", "phrases.svg", "alignment.svg"}
    assert {path.name for path in drawn} == {path.name for path in FOLDER.glob("*.svg")} - of_others
    for path in drawn:
        here = FOLDER / path.name
        assert here.stat().st_size < 60_000
        assert texts(path) == texts(here)
        if f"Matplotlib v{matplotlib.__version__}," in here.read_text(encoding="utf-8"):
            assert path.read_bytes() == here.read_bytes()  # the points, too


def test_the_picture_of_aligned_words_has_the_figures_of_the_model(tmp_path):
    align_picture.draw(tta.load(), *align_picture.SENTENCES, tmp_path / "alignment.svg")
    shown = texts(FOLDER / "alignment.svg")
    assert texts(tmp_path / "alignment.svg") == shown
    assert shown[-12:] == " ".join(align_picture.SENTENCES).lower().split()


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
