"""A way to write the file that a reader reads."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes a text into a file named "file", and returns its path."""

    def write(text):
        (tmp_path / "file").write_text(text, encoding="utf-8")
        return tmp_path / "file"

    return write
