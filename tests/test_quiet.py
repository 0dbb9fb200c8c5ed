"""What a command shows while TensorFlow is imported."""

import os
import pty
import subprocess
import sys

import pytest

TENSORFLOW = """
import contextlib, os
with contextlib.suppress(OSError):
    os.write(2, b"I0000 00:00 a note\\nW0000 00:00 another\\nan error\\n")
"""

COMMAND = """
import tta.cli
def main():
    import tensorflow, tensorflow
tta.cli.run(main)
"""


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """An environment with a package that stands for TensorFlow."""
    (tmp_path / "tensorflow.py").write_text(TENSORFLOW)
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    return os.environ | {"PYTHONPATH": str(tmp_path)}


def test_a_terminal_is_told_once_that_tensorflow_is_loading(environment):
    watcher, terminal = pty.openpty()
    subprocess.run([sys.executable, "-c", COMMAND], check=True, stderr=terminal, env=environment)
    shown = os.read(watcher, 4096)
    os.close(terminal)
    os.close(watcher)
    assert shown == b"loading TensorFlow ...\r\nan error\r\n"


def test_a_file_gets_no_such_line(environment):
    run = [sys.executable, "-c", COMMAND]
    done = subprocess.run(run, check=True, capture_output=True, env=environment)
    assert (done.stdout, done.stderr) == (b"", b"an error\n")
