"""The documentation site: it builds without a warning, and README stays short."""

import re
import runpy
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest

from tests.accessibility import serious
from tests.commands import ROOT
from tta.commands import COMMANDS
from tta.modeling.config.model_types import HEADS, MODEL_TYPES

EXPERIMENTS = {*ROOT.glob("docs/experiments/*.md")}
# The most words of README, of the records of experiments, and of all other pages in docs/, counted
# as `wc -w` does. A page that grows takes words from another one.
LIMITS = {
    "README": (1_250, {ROOT / "README.md"}),
    "docs/experiments": (9_500, EXPERIMENTS),
    "docs, others": (21_500, {*ROOT.glob("docs/**/*.md")} - EXPERIMENTS),
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


def test_the_weight_of_mlm_scoring_is_the_one_that_ranks_the_same():
    """It adds weight * LM to the first pass; (1 - v) first pass + v LM ranks the same."""
    page = (ROOT / "docs/tutorials/coming_from.md").read_text(encoding="utf-8")
    row = re.search(r"`mlm rescore --weight ([\d.]+)` \| `tta rerank --lm_weight=([\d.]+) ", page)
    weight, lm_weight = map(float, row.groups())
    assert lm_weight / (1 - lm_weight) == pytest.approx(weight, rel=0.01)


def test_the_records_of_experiments_say_so_on_top():
    assert len(EXPERIMENTS) > 5
    for page in EXPERIMENTS:
        lines = page.read_text(encoding="utf-8").splitlines()
        assert lines[2].startswith("> Records of measurements, each at the date"), page


HOME = "https://example.org/me/tta-lm"


def pages():
    """docs/pages.py, as a module."""
    return runpy.run_path(str(ROOT / "docs/pages.py"))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site. A link to a missing page or heading is an error."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "mkdocs.yml", folder)  # Zensical builds beside the file itself
    for name in ("docs", "tta"):
        (folder / name).symlink_to(ROOT / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPOSITORY_URL", HOME)
        pages()["write"](folder / "build/docs")
        command = [sys.executable, "-m", "zensical", "build", "--strict"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "build/site"


def test_every_page_is_in_the_navigation_once(tmp_path):
    pages()["write"](tmp_path)
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md"))
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert sorted(re.findall(r"[\w/]+\.md", navigation)) == written


class Links(HTMLParser):
    """The targets of a page's links, pictures, scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.found = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.found |= {value for name, value in attrs if name in ("href", "src") and value}


@pytest.mark.slow
def test_links_and_pictures_of_the_site_lead_to_its_files_or_to_the_repository_s(site):
    missing, to_code = [], []
    for page in site.rglob("*.html"):
        for link in Links(page).found:
            address = urlsplit(link)
            if link.startswith(f"{HOME}/blob/HEAD/"):
                to_code.append(link.removeprefix(f"{HOME}/blob/HEAD/"))
            elif not (address.scheme or address.netloc) and address.path:
                base = site if address.path.startswith("/") else page.parent
                if not (base / address.path.lstrip("/")).exists():
                    missing.append((page.relative_to(site), link))
    assert missing == []
    assert len(to_code) > 5
    assert [path for path in to_code if not (ROOT / path).exists()] == []


def test_links_of_pages_lead_to_files_of_the_repository():
    """As a reader of the repository follows them, who has not built the site."""
    names = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True)
    paths = [ROOT / name for name in names.stdout.splitlines()] or sorted(ROOT.glob("docs/**/*.md"))
    missing = []
    for page in paths:
        for _, _, target, _ in pages()["LINK"].findall(page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                missing.append((page.relative_to(ROOT).as_posix(), target))
    assert len(paths) > 30
    assert missing == []


def test_a_link_to_code_is_its_name_where_the_repository_s_address_is_not_known(monkeypatch):
    relinked = pages()["relinked"]
    text = "[the hub](../tta/__init__.py) [gpu](gpu.md#a) [a](../README.md)"
    monkeypatch.delenv("REPOSITORY_URL", raising=False)
    linked = "the hub (`tta/__init__.py`) [gpu](gpu.md#a) [a](index.md)"
    assert relinked(text, "docs/versions.md") == linked


@pytest.mark.slow
def test_a_page_has_the_repository_its_neighbours_and_a_switch_of_colours(site):
    page = (site / "tutorials/whisper/index.html").read_text(encoding="utf-8")
    for part in (f'<a href="{HOME}"', "md-footer__link--prev", "md-footer__link--next"):
        assert part in page
    schemes = re.findall(r'data-md-color-scheme="(\w+)"[^>]*data-md-color-primary="custom"', page)
    assert {"default", "slate"} <= set(schemes)
    assert "site.css" in page
    assert 'data-md-component="source"' not in page  # it asks GitHub for the number of stars


@pytest.mark.slow
def test_signatures_are_wrapped(site):
    page = (site / "reference/python/index.html").read_text(encoding="utf-8")
    signature = re.search(r'<div class="doc-signature highlight">(.*?)</div>', page, re.DOTALL)[1]
    lines = re.sub(r"<[^>]+>", "", signature).strip().splitlines()
    assert lines[0].endswith("(")
    assert len(lines) > 10


@pytest.mark.large
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_axe_finds_nothing_serious(site, browser, scheme):
    tab = browser.new_page(viewport={"width": 375, "height": 800}, color_scheme=scheme)
    for page in ("", "reference/python", "results", "tutorials/start"):
        tab.goto((site / page / "index.html").as_uri())
        assert tab.evaluate("document.documentElement.scrollWidth") <= 375, page
        assert serious(tab) == {}, page
    tab.close()


@pytest.mark.slow
def test_every_command_and_every_key_is_in_the_reference(site):
    commands = (site / "reference/commands/index.html").read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f'id="{name}"' in commands
    assert "--nbest_file=FILE" in commands
    assert "text&lt;TAB&gt;score" in commands  # in a help text: no HTML tag
    keys = (site / "reference/config/index.html").read_text(encoding="utf-8")
    for name in (*MODEL_TYPES, *HEADS):
        assert f"{name}" in keys
    assert "num_tower_layers" in keys


@pytest.mark.slow
def test_the_python_face_is_made_from_docstrings(site):
    page = (site / "reference/python/index.html").read_text(encoding="utf-8")
    for name in ("tta.load", "Scorer.score", "Scorer.encode", "in_memory.rerank"):
        assert name in page
    assert "The built-in model" in (site / "index.html").read_text(encoding="utf-8")
