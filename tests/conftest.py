"""Fixtures that tests of several rooms share."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def tta_data():
    """The folder of real data (`TTA_DATA`, default `../shared/data`); skips where it is missing."""
    folder = Path(os.environ.get("TTA_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"needs the evaluation data: no folder {folder} (set TTA_DATA)")
    return folder
