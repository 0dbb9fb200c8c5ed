"""Files are complete or absent, even after a kill; only one process writes at a time."""

import contextlib
import errno
import os
import re
import signal

import filelock
import pytest

from tests.commands import python
from tests.faults import file_size_limit
from tta import atomic
from tta.atomic import LOCK_FILE, locked_folder, names_in, whole_file, whole_folder
from tta.errors import InputError


def names(folder):
    """The names of the files; the random part of an unfinished one is replaced by "?"."""
    found = [path.name for path in folder.iterdir()]
    return sorted(re.sub(r"^\.tta-[0-9a-f]{16}\.tmp$", ".tta-?.tmp", name) for name in found)


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "a"
    with whole_file(path) as file:
        file.write(b"whole")
        file.flush()
        assert names(tmp_path) == [".a.lock", ".tta-?.tmp"]
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
    assert python(HELD, tmp_path).returncode == -signal.SIGKILL
    assert names(tmp_path) == [".a.lock", ".tta-?.tmp", LOCK_FILE]
    with locked_folder(tmp_path), whole_file(tmp_path / "a") as file:
        file.write(b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert names(tmp_path) == ["a"]


def test_a_lock_file_that_its_owner_removed_meanwhile_is_created_again(tmp_path, monkeypatch):
    path, flock, taken = tmp_path / "a", atomic._flock, []

    def late(descriptor):
        if not taken:
            taken.append((tmp_path / ".a.lock").unlink())
        flock(descriptor)

    monkeypatch.setattr(atomic, "_flock", late)
    with whole_file(path) as file:
        file.write(b"whole")
        with pytest.raises(InputError, match="another process is writing it"):
            write_half(path, ValueError)
    assert path.read_bytes() == b"whole"
    assert names(tmp_path) == ["a"]


MINE = b"a file of the user"


@pytest.mark.parametrize("name", [".a.tmp", f".tta-{'0' * 16}.tmp"])
def test_a_file_of_the_user_is_not_taken_for_an_unfinished_one(tmp_path, name):
    (tmp_path / name).write_bytes(MINE)
    with whole_file(tmp_path / "a") as file:
        file.write(b"whole")
    assert (tmp_path / name).read_bytes() == MINE
    assert (tmp_path / "a").read_bytes() == b"whole"


def test_the_name_of_an_unfinished_file_is_free_afterwards(tmp_path):
    with whole_file(tmp_path / "a") as file:
        file.write(b"whole")
        (unfinished,) = tmp_path.glob(".tta-*.tmp")
    unfinished.write_bytes(MINE)
    with whole_file(tmp_path / "a") as file:
        file.write(b"again")
    assert unfinished.read_bytes() == MINE


def test_a_file_of_the_user_with_the_name_of_the_lock_is_kept(tmp_path):
    for name in (".a.lock", LOCK_FILE):
        (tmp_path / name).write_bytes(MINE)
    refusal = pytest.raises(InputError, match=r"\.a\.lock: expected a lock file of a, got another")
    with refusal, whole_file(tmp_path / "a"):
        pytest.fail("the file is not ours")
    with locked_folder(tmp_path):
        pass
    assert [(tmp_path / name).read_bytes() for name in (".a.lock", LOCK_FILE)] == [MINE, MINE]
    assert names(tmp_path) == [".a.lock", LOCK_FILE]


def test_zeros_that_a_power_cut_left_are_no_file_of_the_user(tmp_path):
    (tmp_path / ".a.lock").write_bytes(bytes(27))
    with whole_file(tmp_path / "a") as file:
        file.write(b"whole")
    assert names(tmp_path) == ["a"]


def test_a_link_to_nothing_does_not_create_its_target(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "missing")
    with pytest.raises(InputError, match=r"a: it is a link to \S+missing, which does not exist"):
        write_half(tmp_path / "a", ValueError)
    assert names(tmp_path) == ["a"]


def link_to(name, tmp_path):
    """A file of the user, and a symbolic link to it, of this name, in a folder of its own."""
    mine, folder = tmp_path / "mine", tmp_path / "hostile"
    mine.write_bytes(b"mine")
    folder.mkdir()
    (folder / name).symlink_to(mine)
    return mine, folder


@pytest.mark.parametrize("name", [".a.lock", LOCK_FILE])
def test_a_link_with_the_name_of_a_lock_is_not_followed(tmp_path, name):
    mine, folder = link_to(name, tmp_path)
    with pytest.raises(InputError, match="expected a lock file, got a symbolic link"):  # noqa: SIM117
        with whole_file(folder / "a") if name == ".a.lock" else locked_folder(folder):
            pytest.fail("the link was followed")
    assert mine.read_bytes() == b"mine"
    assert names(folder) == [name]


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda lock: lock.hardlink_to(lock.with_name("mine")), "got another file"),
        (os.mkfifo, "expected a lock file, got a pipe or a device"),  # and does not block
        (os.mkdir, r"a: cannot be written: "),
    ],
)
def test_what_is_no_lock_file_is_refused(tmp_path, make, rule):
    (tmp_path / "mine").write_bytes(MINE)
    make(tmp_path / ".a.lock")
    with pytest.raises(InputError, match=rule):
        write_half(tmp_path / "a", ValueError)
    assert (tmp_path / "mine").read_bytes() == MINE
    assert names(tmp_path) == [".a.lock", "mine"]


KILLED_RENAME = """
import os, signal, sys
from tta.atomic import whole_folder
rename, calls = os.rename, []
def killed(source, target):
    if len(calls) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    calls.append(rename(source, target))
os.rename = killed
with whole_folder(sys.argv[1], lambda: None) as folder:
    (folder / "file").write_text("new")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("renames", "found"), [(0, "former"), (1, "former"), (2, "new")])
def test_a_folder_is_never_lost(tmp_path, renames, found):
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "file").write_text("former")
    assert python(KILLED_RENAME, folder, renames).returncode == -signal.SIGKILL
    seen = []
    with whole_folder(folder, lambda: seen.append((folder / "file").read_text())) as new:
        (new / "file").write_text("newer")
    assert seen == [found, found]  # before the folder is made, and before it gets its name
    assert (folder / "file").read_text() == "newer"
    assert names(tmp_path) == ["a"]


def test_a_folder_appears_when_it_is_complete(tmp_path):
    with whole_folder(tmp_path / "a", lambda: None) as folder:
        assert names(tmp_path) == [".a.lock", ".tta-?.tmp"]
        (folder / "file").touch()
        refusal = pytest.raises(InputError, match="another process is writing it")
        with refusal, whole_folder(tmp_path / "a", lambda: None):
            pytest.fail("two processes have the lock")
    assert names(tmp_path) == ["a"]
    assert names(tmp_path / "a") == ["file"]


@pytest.mark.parametrize("failed", [0, 1])
def test_a_rename_that_fails_leaves_the_old_folder(tmp_path, monkeypatch, failed):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").touch()
    calls = []

    def rename(source, target, rename=os.rename):
        calls.append(target)
        if len(calls) == failed + 1:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(atomic.os, "rename", rename)
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "a", lambda: None):
        pass
    assert names(tmp_path) == ["a"]
    assert names(tmp_path / "a") == ["file"]


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o666, 0o444])
def test_a_replaced_file_keeps_its_permissions(tmp_path, permissions):
    path = tmp_path / "a"
    path.write_bytes(b"former")
    path.chmod(permissions)
    with whole_file(path) as file:
        (unfinished,) = tmp_path.glob(".tta-*.tmp")
        assert unfinished.stat().st_mode & 0o777 == 0o600, "private from the first byte"
        file.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert path.stat().st_mode & 0o777 == permissions


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_root_replaces_keeps_its_owner(tmp_path):
    path, folder = tmp_path / "a", tmp_path / "b"
    path.touch()
    folder.mkdir()
    for old in (path, folder):
        os.chown(old, 1234, 2345)
    with whole_file(path), whole_folder(folder, lambda: None) as new:
        (new / "c").touch()
    for new in (path, folder, folder / "c"):
        assert (new.stat().st_uid, new.stat().st_gid) == (1234, 2345)


def test_a_new_file_has_the_permissions_of_the_user_s_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with whole_file(tmp_path / "a") as file:
            file.write(b"whole")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_a_file_system_without_locks_refuses_nobody(tmp_path, monkeypatch):
    def none(descriptor, blocking):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock, "lock_descriptor", none)
    with locked_folder(tmp_path), locked_folder(tmp_path), whole_file(tmp_path / "a") as file:
        file.write(b"written")
    assert names(tmp_path) == ["a"]


def test_without_locks_two_writers_do_not_mix(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic, "_flock", lambda descriptor: None)
    path, first = tmp_path / "a", contextlib.ExitStack()
    first.enter_context(whole_file(path)).write(b"first")
    with whole_file(path) as file:
        file.write(b"sec")
        with pytest.raises(InputError, match="a: another process is writing it"):
            first.close()
        file.write(b"ond")
    assert path.read_bytes() == b"second"
    assert names(tmp_path) == ["a"]


SIGNALLED = """
import os, signal
from tta import cli
from tta.data.text.files import open_output

{before}

def main():
    with open_output({path!r}) as file:
        file.write("whole")
        os.kill(os.getpid(), signal.{name})

cli.run(main)
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_ends_a_command_with_one_line_and_leaves_nothing(tmp_path, name):
    ended = python(SIGNALLED.format(path=str(tmp_path / "a"), name=name, before=""))
    assert (ended.returncode, ended.stderr) == (143, "error: terminated\n")
    assert names(tmp_path) == []


def test_nohup_goes_on_ignoring_hang_ups(tmp_path):
    before = "signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    ended = python(SIGNALLED.format(path=str(tmp_path / "a"), name="SIGHUP", before=before))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert (tmp_path / "a").read_text() == "whole"


def test_hang_ups_that_come_twice_or_at_the_end_leave_nothing(tmp_path):
    """The shell and the system send one each; a terminal that is closed cannot be written to."""
    code = SIGNALLED.format(path=str(tmp_path / "a"), name="SIGHUP", before=TWICE)
    ended = python(code)
    assert (ended.returncode, ended.stderr) == (143, "")
    assert names(tmp_path) == []


TWICE = """
import pathlib, sys
unlink = pathlib.Path.unlink

def hung_up(path, **options):
    os.kill(os.getpid(), signal.SIGHUP)
    unlink(path, **options)

pathlib.Path.unlink = hung_up
sys.stderr = open("/dev/full", "w")
"""


def test_locks_and_unfinished_files_are_not_names_of_a_folder(tmp_path):
    ours = (LOCK_FILE, ".a.lock", ".tta-0123456789abcdef.tmp", ".tta-0123456789abcdef.old")
    theirs = ("a", ".hidden", "a.lock", ".lock", ".tta-0123456789abcdef.tmp.txt")
    for name in (*ours, *theirs):
        (tmp_path / name).touch()
    assert names_in(tmp_path) == set(theirs)
