"""The metadata of the package: its license, and requirements that install on each Python."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from datetime import date
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import Distribution

import pytest
from packaging.requirements import Requirement

import tta
from tests.commands import ROOT

ROOMS = ("tta", "modeling", "data", "scoring", "flags", "papers")


@pytest.fixture(scope="module")
def distribution(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metadata")
    command = [sys.executable, "-W", "ignore", "setup.py", "-q", "egg_info"]
    done = subprocess.run(
        [*command, f"--egg-base={folder}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.egg-info")
    return Distribution.at(path)


def test_the_license(distribution):
    metadata = distribution.metadata
    assert "Apache-2.0" in (metadata.get("License"), metadata.get("License-Expression"))
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert (ROOT / "LICENSE").read_text().split()[:4] == ["Apache", "License", "Version", "2.0,"]


def test_every_requirement_has_its_license_in_the_table(distribution):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (.+?) \| .+ \| .+ \|$", text.partition("## Licenses of")[2])
    listed = {name for row in rows for name in row.split(", ")}
    assert {Requirement(text).name for text in distribution.requires} <= listed


def copy_tree(folder):
    """What a wheel is built from, with the present time."""
    for room in ROOMS:
        ignore = shutil.ignore_patterns("__pycache__", "*.h5")
        shutil.copytree(ROOT / room, folder / room, symlinks=True, ignore=ignore)
    for file in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / file, folder / file)
    return folder


def build_wheel(source, folder, **environment):
    """The path of the wheel of a tree."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, "--disable-pip-version-check", "-w", folder, "."],
        cwd=source,
        env=os.environ | environment,
        check=True,
    )
    (path,) = folder.glob("*.whl")
    return path


def build_sdist(source, folder):
    """The tree that an sdist of a tree unpacks to."""
    script = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = folder.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", path, "-C", folder], check=True)
    return folder / path.name.removesuffix(".tar.gz")


@pytest.mark.slow
def test_a_wheel_is_the_same_from_a_used_clone_and_from_an_sdist(tmp_path):
    fresh, used = copy_tree(tmp_path / "fresh"), copy_tree(tmp_path / "used")
    stale = used / "build/lib/tta/deleted_since.py"
    stale.parent.mkdir(parents=True)
    stale.touch()
    for number, tree in enumerate((fresh, used)):
        for path in (tree / "tta").glob("*.py"):
            os.utime(path, (10**9 + number, 10**9 + number))
    trees = {"fresh": fresh, "used": used, "sdist": build_sdist(used, tmp_path)}
    built = {
        name: build_wheel(tree, tmp_path / f"wheel_{name}", SOURCE_DATE_EPOCH="1700000000")
        for name, tree in trees.items()
    }
    names = {name: set(zipfile.ZipFile(wheel).namelist()) for name, wheel in built.items()}
    assert names["used"] - names["fresh"] == names["sdist"] ^ names["fresh"] == set()
    assert len({wheel.read_bytes() for wheel in built.values()}) == 1


def test_the_image_leaves_out_what_git_ignores_and_asks_the_service_for_its_health():
    ignored, left_out = (
        {line.strip("/").removeprefix("**/") for line in (ROOT / name).read_text().splitlines()}
        for name in (".gitignore", ".dockerignore")
    )
    assert left_out >= ignored | {".git"}
    check = re.search(r"HEALTHCHECK .*\\\n +CMD (\[.+\])", (ROOT / "Dockerfile").read_text())
    assert check
    paths = []

    class Healthy(BaseHTTPRequestHandler):
        def do_GET(self):
            paths.append(self.path)
            self.send_response(200)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Healthy) as server:
        _, *arguments = json.loads(check[1].replace(":8000/", f":{server.server_port}/"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert subprocess.run([sys.executable, *arguments], check=False).returncode == 0
        server.shutdown()
    assert paths == ["/health"]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
    assert done.returncode == 1


def test_the_sdist_has_every_tracked_file_but_the_large_models(distribution):
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    links = {f"tta/{room}" for room in ROOMS}  # their files are there
    tracked = {name for name in listed if not name.startswith("pretrained/")} - links
    packed = set((distribution.read_text("SOURCES.txt") or "").splitlines())
    assert tracked - packed == set()
    assert not any(name.startswith("pretrained/") for name in packed)


def test_the_version_is_in_the_changelog_and_in_the_citation():
    dates = re.findall(r"(?m)^## (\S+)(?: - (\S+))?$", (ROOT / "CHANGELOG.md").read_text())
    assert dates[0] == ("Unreleased", "")
    versions = dict(dates[1:])
    citation = (ROOT / "CITATION.cff").read_text()
    (cited,) = re.findall(r"(?m)^version: (.+)$", citation)
    assert tta.__version__.removesuffix(".dev0") >= cited == dates[1][0]
    assert f"\ndate-released: {versions[cited]}\n" in citation
    assert date.fromisoformat(versions[cited]) <= date.today()


def needed(distribution, extra=""):
    """The names of the packages that an installation brings."""
    found = [Requirement(text) for text in distribution.requires]
    return {r.name for r in found if not r.marker or r.marker.evaluate({"extra": extra})}


def test_a_plain_installation_has_no_tensorflow_and_that_of_tests_has_all(distribution):
    others = {"sacrebleu", "huggingface-hub"}
    learning = {"keras", "tensorboard", "google-crc32c"}
    training = {"tensorflow", "tensorflow-text", "tensorflow-serving-api", *learning}
    light = needed(distribution)
    assert not light & (training | others)
    assert needed(distribution, "train") - light == training
    assert needed(distribution, "train-jax") - light == {"jax", *learning}
    assert needed(distribution, "test") >= others
    assert not needed(distribution, "test") & training
    assert needed(distribution, "test-train") >= {*training, *others, "jax"}


@pytest.fixture(scope="module")
def clone_without_links(tmp_path_factory):
    """What git makes of the repository on Windows: text files in place of the links."""
    folder = tmp_path_factory.mktemp("clone")
    copy_tree(folder)
    for link in (path for path in (folder / "tta").iterdir() if path.is_symlink()):
        target = os.readlink(link)
        link.unlink()
        link.write_text(target)
    return folder


@pytest.mark.slow
def test_a_clone_without_links_has_every_module_and_a_release_has_addresses(
    clone_without_links, tmp_path
):
    address = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "me/tta-lm"}
    wheel = zipfile.ZipFile(build_wheel(clone_without_links, tmp_path, **address))
    modules = {name for name in wheel.namelist() if name.endswith(".py")}
    expected = {
        f"tta/{'' if room == 'tta' else room + '/'}{file.relative_to(ROOT / room).as_posix()}"
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if file.parent.name != "tests"  # those of papers/
    }
    assert modules == expected
    assert {"tta/scoring/exports/templates/modeling_tta.py.txt", "tta/py.typed"} <= set(
        wheel.namelist()
    )
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    text = wheel.read(name).decode()
    home = "https://github.com/me/tta-lm"
    assert f"Project-URL: Source, {home}\n" in text
    links = re.findall(r"\]\(([^)]+)\)", text.partition("\n\n")[2])
    assert len(links) > 20
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert f"{home}/raw/v{tta.__version__}/docs/pictures/wer.svg" in links
    for link in links:
        page = re.fullmatch(rf"{home}/(?:raw|blob)/v{tta.__version__}/([^#]+)(?:#.*)?", link)
        assert page is None or (ROOT / page[1]).exists(), link


@pytest.mark.slow
def test_the_package_of_models_has_every_model(tmp_path):
    """`pip install ./pretrained`, with empty files of weights."""
    if not (ROOT / "pretrained").is_dir():
        pytest.skip("needs a clone")
    folder = tmp_path / "pretrained"
    models = [path.parent for path in (ROOT / "pretrained").glob("*/config.json")]
    tracked = [path for model in models for path in model.iterdir()]
    for path in (*tracked, ROOT / "pretrained/pyproject.toml"):
        copy = folder / path.relative_to(ROOT / "pretrained")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    shutil.copyfile(ROOT / "pretrained/pyproject.toml", folder / "pyproject.toml")
    wheel = zipfile.ZipFile(build_wheel(folder, tmp_path))
    names = {name for name in wheel.namelist() if name.startswith("tta_models/")}
    expected = {f"tta_models/{one.relative_to(ROOT / 'pretrained').as_posix()}" for one in tracked}
    assert names == expected


def test_ci_runs_the_named_block_then_all_other_tests_and_fails_without_tests(tmp_path):
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")

    def run(readme):
        (tmp_path / "README.md").write_text(readme)
        command = ["bash", tmp_path / ".ci/run"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    other = "```bash\necho other\n```\n"
    venv = "mkdir -p .venv/bin && ln -s /bin/echo .venv/bin/python"
    block = f"<!-- tests -->\n```bash\n{venv} && echo '{{}}' # pytest\n```\n"
    done = run(other + block.format("3 passed in 1 s") + other)
    first, others, slow = done.stdout.splitlines()
    assert (done.returncode, first) == (0, "3 passed in 1 s"), done.stderr
    assert others == "-m pytest -n 2 --dist=loadfile -m tensorflow and not slow and not large"
    assert slow.startswith("-m pytest -m slow tests/test_docs.py ")
    assert run(other + block.format("no tests ran, 10 skipped")).returncode == 1
    assert run(other + block.format("0 passed")).returncode == 1
    assert "README.md has no block of tests" in run(other + other).stderr
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("<!-- tests -->\n```bash\n") == 1
