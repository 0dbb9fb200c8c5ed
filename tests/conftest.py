"""Fixtures that tests of several rooms share."""

from pathlib import Path

import pytest

from benchmarks import evaluation_data


@pytest.fixture(scope="session")
def tta_data() -> Path:
    """The folder of the evaluation data; skips the test if it is missing."""
    folder = evaluation_data.FOLDER
    if not folder.is_dir():
        pytest.skip(f"needs the evaluation data: no folder {folder} (set TTA_DATA)")
    return folder
