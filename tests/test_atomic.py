"""Files are complete or absent, even after a kill; only one process writes at a time."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import file_size_limit
from tta import atomic
from tta.atomic import LOCK_FILE, locked_folder, whole_file
from tta.errors import InputError

ROOT = Path(__file__).resolve().parent.parent


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "a"
    with whole_file(path) as file:
        file.write(b"whole")
        file.flush()
        assert names(tmp_path) == [".a.tmp"]
    assert path.read_bytes() == b"whole"
    assert names(tmp_path) == ["a"]


def write_half(path, failure):
    with whole_file(path) as file:
        file.write(b"half")
        raise failure


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_file(tmp_path, failure):
    path = tmp_path / "a"
    path.write_bytes(b"former")
    with pytest.raises(failure):
        write_half(path, failure)
    assert path.read_bytes() == b"former"
    assert names(tmp_path) == ["a"]


def test_a_full_disk_leaves_the_old_file_and_names_it(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"former")
    limit, refusal = file_size_limit(10_000), pytest.raises(OSError, match="File too large")
    with limit, refusal as error, whole_file(path) as file:
        file.write(b"half" * 5_000)
    assert error.value.filename == str(path)
    assert path.read_bytes() == b"former"
    assert names(tmp_path) == ["a"]


def test_a_second_writer_of_a_file_is_refused(tmp_path):
    path = tmp_path / "a"
    with whole_file(path) as file:
        file.write(b"first")
        with pytest.raises(InputError, match="a: another process is writing it"):
            write_half(path, ValueError)
    assert path.read_bytes() == b"first"


def test_a_finished_writer_leaves_the_next_writer_s_file(tmp_path, monkeypatch):
    def replace(source, target, replace=os.replace):
        replace(source, target)
        source.write_bytes(b"the next writer's")

    monkeypatch.setattr(atomic.os, "replace", replace)
    with whole_file(tmp_path / "a") as file:
        file.write(b"whole")
    assert names(tmp_path) == [".a.tmp", "a"]


def test_a_second_writer_in_a_folder_is_refused(tmp_path):
    refusal = pytest.raises(InputError, match="another process is writing there")
    with locked_folder(tmp_path), refusal, locked_folder(tmp_path):
        pytest.fail("two processes have the lock")
    with locked_folder(tmp_path):
        assert names(tmp_path) == [LOCK_FILE]
    assert names(tmp_path) == []


HELD = """
import os, signal, sys
from tta.atomic import locked_folder, whole_file
with locked_folder(sys.argv[1]), whole_file(sys.argv[1] + "/a") as file:
    file.write(b"half of something long")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_locks_of_a_killed_process_are_released(tmp_path):
    ended = subprocess.run([sys.executable, "-c", HELD, tmp_path], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert names(tmp_path) == [".a.tmp", LOCK_FILE]
    with locked_folder(tmp_path), whole_file(tmp_path / "a") as file:
        file.write(b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_a_file_renamed_between_opening_and_locking_is_not_written(tmp_path, monkeypatch):
    path, flock = tmp_path / "a", fcntl.flock

    def late(descriptor, how):
        if not path.exists():
            os.replace(tmp_path / ".a.tmp", path)  # its writer has just finished
            path.write_bytes(b"theirs")
        flock(descriptor, how)

    monkeypatch.setattr(atomic.fcntl, "flock", late)
    with pytest.raises(ValueError):  # noqa: PT011
        write_half(path, ValueError)
    assert path.read_bytes() == b"theirs"


def test_a_file_system_without_locks_refuses_nobody(tmp_path, monkeypatch):
    def none(descriptor, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(atomic.fcntl, "flock", none)
    with locked_folder(tmp_path), locked_folder(tmp_path), whole_file(tmp_path / "a") as file:
        file.write(b"written")
    assert names(tmp_path) == ["a"]


def test_sigterm_ends_a_command_with_one_line_and_leaves_nothing(tmp_path):
    code = f"""
import os, signal
from tta import cli
from tta.data.text.files import open_output

def main():
    with open_output({str(tmp_path / "a")!r}) as file:
        file.write("half")
        os.kill(os.getpid(), signal.SIGTERM)

cli.run(main)
"""
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (143, "error: terminated\n")
    assert names(tmp_path) == []
