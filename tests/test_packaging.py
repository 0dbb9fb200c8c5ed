"""The metadata of the package: its license, and requirements that install on each Python."""

import os
import re
import shutil
import subprocess
import sys
from datetime import date
from importlib.metadata import Distribution, PackageNotFoundError
from importlib.metadata import distribution as distribution_of
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import tta

ROOT = Path(__file__).resolve().parent.parent


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
    assert "Apache-2.0" in (metadata["License"], metadata["License-Expression"])
    assert metadata.get_all("License-File") == ["LICENSE"]
    assert (ROOT / "LICENSE").read_text().split()[:4] == ["Apache", "License", "Version", "2.0,"]


@pytest.mark.parametrize(
    ("python", "package"), [("3.10", "kenlm"), ("3.12", "kenlm"), ("3.13", "camel-kenlm")]
)
def test_the_package_for_n_grams(distribution, python, package):
    requirements = [Requirement(text) for text in distribution.requires]

    def needed(extra):
        place = {"python_version": python, "extra": extra}
        return {r.name for r in requirements if not r.marker or r.marker.evaluate(place)}

    assert needed("kenlm") - needed("") == {package}


def test_every_requirement_has_its_license_in_the_table(distribution):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (.+?) \| .+ \| .+ \|$", text.partition("## Licenses of")[2])
    listed = {name for row in rows for name in row.split(", ")}
    assert {Requirement(text).name for text in distribution.requires} <= listed


def test_a_wheel_is_the_same_twice(tmp_path):
    rooms = ("tta", "modeling", "data", "scoring", "flags")
    built = []
    for number in (1, 2):
        source, wheels = tmp_path / f"source{number}", tmp_path / f"wheels{number}"
        for room in rooms:
            ignore = shutil.ignore_patterns("__pycache__", "*.h5")
            shutil.copytree(ROOT / room, source / room, symlinks=True, ignore=ignore)
        for file in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copyfile(ROOT / file, source / file)  # with the present time
        for path in (source / "tta").glob("*.py"):
            os.utime(path, (10**9 + number, 10**9 + number))
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
        subprocess.run(
            [*command, "--disable-pip-version-check", "-w", wheels, "."],
            cwd=source,
            env=os.environ | {"SOURCE_DATE_EPOCH": "1700000000"},
            check=True,
        )
        (wheel,) = wheels.glob("*.whl")
        built.append(wheel.read_bytes())
    assert built[0] == built[1]


def test_the_sdist_has_every_tracked_file_but_the_large_models(distribution):
    if not (ROOT / ".git").exists():
        pytest.skip("needs a clone")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    links = {"tta/data", "tta/flags", "tta/modeling", "tta/scoring"}  # their files are there
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


def test_a_light_installation_has_all_that_its_packages_need():
    """`pip install --no-deps` installs what the list names, and nothing else."""
    lines = (ROOT / "requirements-light.txt").read_text(encoding="utf-8").splitlines()
    listed = {canonical(Requirement(line).name) for line in lines if line[:1] not in ("#", "")}
    assert not listed & {"tensorflow", "keras", "tensorflow-text"}
    here = {"extra": ""}
    missing = {
        (name, needed.name)
        for name in listed
        for needed in map(Requirement, requires(name) or [])
        if needed.marker is None or needed.marker.evaluate(here)
        if canonical(needed.name) not in listed
    }
    assert missing <= {("tokenizers", "huggingface-hub")}


def test_a_light_installation_leaves_out_only_tensorflow(distribution):
    lines = (ROOT / "requirements-light.txt").read_text(encoding="utf-8").splitlines()
    listed = {canonical(Requirement(line).name) for line in lines if line[:1] not in ("#", "")}
    needed = {canonical(r.name) for r in map(Requirement, distribution.requires) if not r.marker}
    assert needed - listed == {"tensorflow", "keras", "tensorboard"}


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def requires(name):
    """The requirements of an installed package; None if it is not installed (pywin32)."""
    try:
        return distribution_of(name).requires
    except PackageNotFoundError:
        return None


def test_ci_runs_the_named_block_and_fails_without_tests(tmp_path):
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")

    def run(readme):
        (tmp_path / "README.md").write_text(readme)
        command = ["bash", tmp_path / ".ci/run"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    other = "```bash\necho other\n```\n"
    block = "<!-- tests -->\n```bash\necho '{}' # pytest\n```\n"
    done = run(other + block.format("3 passed in 1 s") + other)
    assert (done.returncode, done.stdout) == (0, "3 passed in 1 s\n"), done.stderr
    assert run(other + block.format("no tests ran, 10 skipped")).returncode == 1
    assert run(other + block.format("0 passed")).returncode == 1
    assert "README.md has no block of tests" in run(other + other).stderr
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("<!-- tests -->\n```bash\n") == 1
