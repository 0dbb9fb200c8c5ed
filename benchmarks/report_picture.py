"""Draws docs/pictures/report.png: the report page of the lists in examples/, down to two changes.

    python -m benchmarks.report_picture

Needs pip install '.[report,test-large]', and a browser: playwright install chromium, or
$TTA_CHROMIUM, the path of one.
"""

import io
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from absl import flags

from benchmarks import ROOT
from tta import cli

FLAGS = flags.FLAGS
WIDTH, MARGIN = 1240, 8  # pixels; a narrower page would cut the table
NUM_CHANGES = 2
COLOURS = 128  # of the palette, which makes the file a third as large


def main():
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder, "report.html")
        lists = ("--nbest_file=examples/asr.test.json", "--dev_nbest_file=examples/asr.dev.json")
        command = [sys.executable, "run_rerank.py", *lists, f"--report={page}"]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        draw(launch(playwright), page, Path(FLAGS.output_file))


def launch(playwright):
    """Chromium without a window."""
    path = os.environ.get("TTA_CHROMIUM")
    return playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])


def draw(browser, page, picture):
    """Writes a PNG of a report page in light colours, from its top to the end of some changes."""
    from PIL import Image

    tab = browser.new_page(viewport={"width": WIDTH, "height": 800}, color_scheme="light")
    tab.goto(page.resolve().as_uri())
    last = tab.locator(".card").nth(NUM_CHANGES - 1).bounding_box()
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": last["y"] + last["height"] + MARGIN}
    png = tab.screenshot(clip=clip, full_page=True)
    picture.parent.mkdir(parents=True, exist_ok=True)
    Image.open(io.BytesIO(png)).quantize(COLOURS).save(picture, optimize=True)


if __name__ == "__main__":
    default = str(ROOT / "docs/pictures/report.png")
    flags.DEFINE_string("output_file", default, "The picture.")
    cli.run(main)
