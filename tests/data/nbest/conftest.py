"""A way to write the file, or the folder of files, that a reader reads."""

import itertools

import pytest


@pytest.fixture
def write(tmp_path):
    numbers = itertools.count()

    def write(text, name=None):
        """Writes a file, or a folder of files: {name: text}."""
        path = tmp_path / (name or f"input{next(numbers)}")
        if isinstance(text, dict):
            path.mkdir()
        for name, part in text.items() if isinstance(text, dict) else [("", text)]:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_text(part, encoding="utf-8")
        return path

    return write
