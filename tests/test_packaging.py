"""The metadata of the package: its license, and requirements that install on each Python."""

import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def distribution(tmp_path_factory):
    pytest.importorskip("setuptools", reason="needs setuptools: pip install '.[test]'")
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
