"""Files and folders that are either complete or absent, and folders that one process writes to.

All use file locks. The system releases a lock when its process ends, even when it is killed, so
leftovers of a killed process do not block others.

The folder may be hostile: no existing file is written to or removed, except an unfinished one
that a lock file names, and no symbolic link with the name of a temporary file or lock is followed.
"""

import contextlib
import errno
import io
import os
import re
import secrets
import shutil
import signal
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from tta.errors import InputError

LOCK_FILE = ".tta.lock"

# The signals that end a command. SIGHUP comes when the terminal is closed; Windows has none.
HANG_UP: int | None = getattr(signal, "SIGHUP", None)
TERMINATING: tuple[int, ...] = tuple(filter(None, (signal.SIGTERM, HANG_UP)))

# Errors of file systems without locks, such as some network ones. There, a second process is not
# refused; of two writers of one file, the first fails at its end.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)

# What the lock file of a file or folder holds: the name of the unfinished one.
_UNFINISHED = re.compile(rb"(\.tta-[0-9a-f]{16}\.tmp)\n")
_LEFT = re.compile(r"\.tta-[0-9a-f]{16}\.(tmp|old)|\..+\.(lock|unfinished)")

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)  # Windows has none of these three
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_BINARY = getattr(os, "O_BINARY", 0)


@contextlib.contextmanager
def whole_file(path: Path | str) -> Iterator[BinaryIO]:
    """Opens a file for writing that appears under its name only when it is complete.

    The data goes to a new file in the same folder, `.tta-RANDOM.tmp`. Meanwhile `.NAME.lock` is
    locked and holds that name. When the `with` block ends, the data is synced to disk and the file
    is renamed. When the block raises, the new file is removed and the target stays unchanged. A
    killed process leaves both files; the next writer removes them.

    Args:
        path: the file. If it exists, it is replaced. The new file gets its permissions, and its
            owner if this process may change owners. A symbolic link stays a link.

    Yields:
        A binary stream.

    Raises:
        InputError: the file cannot be written, another process is writing it, or the path is a
            link to a file that does not exist.
        OSError: writing failed, for example because the disk is full. The error has the path.
    """
    with _unfinished(path) as (target, temporary):
        try:
            former = _status(target)
            # What replaces a private file is private from its first byte.
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY
            file = os.open(temporary, flags, 0o666 if former is None else 0o600)
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path) from None
        try:
            with io.BufferedWriter(_NamedFile(file, path)) as stream:
                yield stream
                stream.flush()
                with naming(path):
                    os.fsync(file)
                if not _is_at(temporary, file):  # possible on a file system without locks
                    raise InputError("another process is writing it", path)
            if former is not None:
                _keep_owner(temporary, former)
                os.chmod(temporary, former.st_mode & 0o777)
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def whole_folder(path: Path | str, check: Callable[[], None]) -> Iterator[Path]:
    """Makes a folder that appears under its name only when it is complete.

    As `whole_file`. A folder that is replaced is renamed first; if the process is killed before
    the new one has the name, the next writer gives the old one its name back.

    Args:
        path: the folder. What is there is replaced.
        check: raises an error if what is at the path must not be replaced. Called before the folder
            is made, and again before it gets its name.

    Yields:
        The new folder, empty.

    Raises:
        InputError: of `check`; or as `whole_file`.
        OSError: writing failed. The error has the path.
    """
    with _unfinished(path) as (target, temporary):
        check()
        try:
            temporary.mkdir()
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path) from None
        try:
            with naming(path):
                yield temporary
                check()
                if target.is_dir():
                    for entry in (temporary, *temporary.rglob("*")):
                        _keep_owner(entry, target.stat())
                    os.rename(target, _old(temporary))
                os.rename(temporary, target)
        finally:
            with contextlib.suppress(OSError):
                _remove_leftover(temporary, target)


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays Ctrl-C, SIGTERM and SIGHUP to the end of the `with` block."""
    if threading.current_thread() is not threading.main_thread():  # which gets all signals
        yield
        return
    waiting: list[int] = []
    former = {
        number: signal.signal(number, lambda number, _: waiting.append(number))
        for number in (signal.SIGINT, *TERMINATING)
    }
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in waiting[:1]:
            signal.raise_signal(number)


def handle_termination(handler: Callable[..., Any]) -> None:
    """Makes a function the handler of SIGTERM and SIGHUP. `nohup` ignores SIGHUP: it stays so."""
    for number in TERMINATING:
        if number != HANG_UP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def ignore_hang_up() -> None:
    """Ignores SIGHUP from now on: a shell and the system may both send one."""
    if HANG_UP is not None:
        signal.signal(HANG_UP, signal.SIG_IGN)


class Together(contextlib.ExitStack):
    """An `ExitStack` that no signal interrupts while it closes: its files appear all, or none."""

    def __exit__(self, *details: Any) -> bool:
        with uninterrupted():
            return bool(super().__exit__(*details))


def check_absent(path: Path | str) -> None:
    """Raises InputError if a path exists: for folders that are never replaced."""
    if os.path.lexists(path):
        raise InputError("exists; choose another folder", path)


def check_new_folder(folder: Path | str, may_have: Collection[str] = ()) -> None:
    """Raises InputError unless a folder is new or empty, but for names that it may have."""
    if os.path.isdir(folder):
        if names_in(folder).difference(may_have):
            raise InputError("expected a new or an empty folder", folder)
    elif os.path.lexists(folder):
        raise InputError("expected a folder, got a file", folder)


def copy_present(source: Path, target: Path, names: Iterable[str]) -> None:
    """Copies those of the named files that a folder has; a copy appears when it is complete."""
    for name in names:
        if (source / name).exists():
            with open(source / name, "rb") as stream, whole_file(target / name) as file:
                shutil.copyfileobj(stream, file, 1 << 24)


def names_in(folder: Path | str) -> set[str]:
    """The names in a folder, without locks and what killed writers left."""
    return {name for name in os.listdir(folder) if not _LEFT.fullmatch(name)}


@contextlib.contextmanager
def _unfinished(path):
    """Locks the name of a file or folder, and removes what a killed writer left.

    Yields:
        The path without links, and a new path beside it to write to.
    """
    target = Path(os.path.realpath(path))
    if os.path.islink(path) and not target.exists():
        raise InputError(f"it is a link to {target}, which does not exist", path)
    with contextlib.ExitStack() as stack:
        try:
            lock = stack.enter_context(_locked(target.with_name(f".{target.name}.lock")))
            temporary = _new_name(lock, target)
        except BlockingIOError:
            raise InputError("another process is writing it", path) from None
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", path) from None
        yield target, temporary


@contextlib.contextmanager
def locked_folder(folder: Path | str) -> Iterator[None]:
    """Locks an existing folder. Other processes that lock it are refused meanwhile.

    Raises InputError if another process has locked the folder, or the lock file is a symbolic link.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_locked(Path(folder) / LOCK_FILE))
        except BlockingIOError:
            raise InputError("another process is writing there", folder) from None
        yield


@contextlib.contextmanager
def _locked(path):
    """Creates a lock file, locks it, and removes it at the end unless it is somebody's file.

    Yields:
        Its descriptor.

    Raises:
        BlockingIOError: another process holds the lock.
        InputError: the path is not a regular file.
        OSError: the file cannot be opened.
    """
    lock = None
    try:
        with uninterrupted():
            while (lock := _lock(path)) is None:
                pass  # The previous owner has just removed it.
        yield lock
    finally:
        if lock is not None:
            with uninterrupted():
                _unlock(path, lock)


def _unlock(path, lock):
    """Removes a lock file, unless it is somebody's file, and closes it."""
    if _UNFINISHED.fullmatch(_contents(lock)):
        os.ftruncate(lock, 0)
    is_ours = os.fstat(lock).st_size == 0 and _is_at(path, lock)
    if os.name == "nt":  # which does not remove an open file
        os.close(lock)
    if is_ours:
        with contextlib.suppress(OSError):
            path.unlink()
    if os.name != "nt":
        os.close(lock)


def _lock(path):
    """The descriptor of a locked file; None if it was removed before we got the lock."""
    flags = os.O_RDWR | os.O_CREAT | _NO_FOLLOW | _NO_WAIT | _BINARY
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError("expected a lock file, got a symbolic link", path) from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError("expected a lock file, got a pipe or a device", path)
        _flock(descriptor)
        if _is_at(path, descriptor):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _flock(descriptor):
    """Locks an open file. Raises BlockingIOError if another process holds the lock."""
    import filelock

    try:
        if not filelock.lock_descriptor(descriptor, blocking=False):
            raise BlockingIOError
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _new_name(lock, target):
    """Notes a new name in a lock file; removes the unfinished file or folder noted before.

    Raises InputError if the lock file holds something else, so it is not ours.
    """
    noted = _contents(lock)
    leftover = _UNFINISHED.fullmatch(noted)
    if noted and leftover is None:
        path = target.with_name(f".{target.name}.lock")
        raise InputError(f"expected a lock file of {target.name}, got another file", path)
    if leftover is not None:
        _remove_leftover(target.with_name(leftover[1].decode()), target)
    name = f".tta-{secrets.token_hex(8)}.tmp"
    os.ftruncate(lock, 0)
    os.lseek(lock, 0, os.SEEK_SET)
    os.write(lock, f"{name}\n".encode())
    return target.with_name(name)


def _remove_leftover(path, target):
    """Removes what a killed writer left; a folder that it had renamed gets its name back."""
    old = _old(path)
    if old.is_dir() and not os.path.lexists(target):
        os.rename(old, target)
    for folder in (old, path):
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
    path.unlink(missing_ok=True)


def _old(temporary):
    """The name that a folder has while it is replaced."""
    return temporary.with_suffix(".old")


def _contents(descriptor):
    """The first bytes of a lock file, more than a name has; without zeros that a power cut left."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    return os.read(descriptor, 100).rstrip(b"\0")


def _is_at(path, descriptor):
    """Whether the path still refers to the file that is open as `descriptor`."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))


@contextlib.contextmanager
def naming(path: Path | str) -> Iterator[None]:
    """Adds the path that the user gave to the system's errors in the `with` block."""
    try:
        yield
    except OSError as error:
        error.filename = str(path)
        raise


def _status(path):
    """The status of a file; None if it does not exist."""
    with contextlib.suppress(FileNotFoundError):
        return os.stat(path)


def _keep_owner(path, former):
    """Gives a file the owner and the group of a former one, if this process may."""
    with contextlib.suppress(AttributeError, OSError):  # Windows has no such owners
        os.lchown(path, former.st_uid, former.st_gid)


class _NamedFile(io.FileIO):
    """A file whose errors name the path that the user gave; the system's errors name none."""

    def __init__(self, descriptor, path):
        super().__init__(descriptor, "wb")
        self._shown = str(path)

    def write(self, data):
        with naming(self._shown):
            return super().write(data)
