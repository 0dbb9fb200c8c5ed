"""Files that are either complete or absent, and folders that only one process writes to.

Both use file locks. The system releases a lock when its process ends, even when it is killed, so
leftovers of a killed process do not block others.

The folder may be hostile: no existing file is written to, and no symbolic link with the name of a
temporary file or lock is followed.
"""

import contextlib
import errno
import fcntl
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tta.errors import InputError

LOCK_FILE = ".tta.lock"

# Errors of file systems without locks, such as some network ones. There, a second process is not
# refused; of two writers of one file, the first fails at its end.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextlib.contextmanager
def whole_file(path: Path | str) -> Iterator[BinaryIO]:
    """Opens a file for writing that appears under its name only when it is complete.

    The data goes to `.name.tmp` in the same folder, a new file that only this process writes. When
    the `with` block ends, the data is synced to disk and the file is renamed. When the block
    raises, the temporary file is removed and the target stays unchanged. A killed process leaves
    its temporary file; the next writer removes it.

    Args:
        path: the file. If it exists, it is replaced, and the new file gets its permissions. A
            symbolic link stays a link.

    Yields:
        A binary stream.

    Raises:
        InputError: the file cannot be written, or another process is writing it.
        OSError: writing failed, for example because the disk is full. The error has the path.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        permissions = _permissions(target)
        # What replaces a private file is private from its first byte.
        file = _create(temporary, 0o666 if permissions is None else 0o600)
    except BlockingIOError:
        raise InputError("another process is writing it", path) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from None
    try:
        with io.BufferedWriter(_NamedFile(os.dup(file), path)) as stream:
            yield stream
            stream.flush()
            os.fsync(file)
        if permissions is not None:
            os.fchmod(file, permissions)
        if not _is_at(temporary, file):  # possible on a file system without locks
            raise InputError("another process is writing it", path)
        os.replace(temporary, target)
    except BaseException:
        if _is_at(temporary, file):  # else it is the next writer's
            temporary.unlink()
        raise
    finally:
        os.close(file)


@contextlib.contextmanager
def locked_folder(folder: Path | str) -> Iterator[None]:
    """Locks an existing folder. Other processes that lock it are refused meanwhile.

    Raises:
        InputError: another process has locked the folder, or the lock file is a symbolic link.
    """
    path = Path(folder) / LOCK_FILE
    try:
        while (lock := _lock(path, os.O_RDWR | os.O_CREAT)) is None:
            pass  # The previous owner has just removed it.
    except BlockingIOError:
        raise InputError("another process is writing there", folder) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InputError("expected a lock file, got a symbolic link", path) from None
        raise
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def _create(path, permissions):
    """Creates and locks a file; removes one that a killed process left.

    Returns:
        Its descriptor, for reading and writing. Closing it releases the lock.

    Raises:
        BlockingIOError: another process holds the lock of the file.
    """
    while True:
        try:
            file = _lock(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, permissions)
        except FileExistsError:
            _remove_leftover(path)
            continue
        if file is not None:
            return file


def _remove_leftover(path):
    """Removes the file of a killed writer, or a link or pipe of its name.

    Raises:
        BlockingIOError: another process holds the lock of the file.
    """
    with contextlib.suppress(FileNotFoundError):  # Its writer has just renamed it.
        if not stat.S_ISREG(os.lstat(path).st_mode):
            os.unlink(path)
        elif (leftover := _lock(path, os.O_RDONLY)) is not None:
            with os.fdopen(leftover):
                os.unlink(path)


def _lock(path, flags, permissions=0o666):
    """Opens a file and locks it.

    Returns:
        Its descriptor; closing it releases the lock. None if its previous owner has renamed or
        removed it before we got the lock.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file cannot be opened, for example because it is a symbolic link.
    """
    descriptor = os.open(path, flags | os.O_NOFOLLOW, permissions)
    try:
        _flock(descriptor)
        if _is_at(path, descriptor):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is_at(path, descriptor):
    """Whether the path still refers to the file that is open as `descriptor`."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))


def _permissions(path):
    """The permissions of a file; None if it does not exist."""
    with contextlib.suppress(FileNotFoundError):
        return os.stat(path).st_mode & 0o777


def _flock(descriptor):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


class _NamedFile(io.FileIO):
    """A file whose errors name the path that the user gave; the system's errors name none."""

    def __init__(self, descriptor, path):
        super().__init__(descriptor, "wb")
        self._shown = str(path)

    def write(self, data):
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self._shown
            raise
