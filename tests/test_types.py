"""Pyright finds no error in the package, and every import resolves without installing it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pyright(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "pyright", *arguments], cwd=ROOT, capture_output=True, text=True
    )


def test_pyright():
    version = pyright("--version")  # downloads pyright the first time
    if version.returncode:
        pytest.skip(f"pyright cannot run: {version.stderr.strip()[-200:]}")
    done = pyright("-p", "pyproject.toml", "--pythonpath", sys.executable, "--outputjson")
    report = json.loads(done.stdout)
    found = [
        f"{Path(one['file']).relative_to(ROOT)}:{one['range']['start']['line'] + 1}: "
        f"{one['message']} ({one.get('rule')})"
        for one in report["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    assert not found, "\n".join(found)
    assert report["summary"]["filesAnalyzed"] > 100
