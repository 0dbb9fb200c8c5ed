"""Files that are either complete or absent, and folders that only one process writes to.

Both use file locks. The system releases a lock when its process ends, even when it is killed, so
leftovers of a killed process do not block others.
"""

import contextlib
import errno
import fcntl
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tta.errors import InputError

LOCK_FILE = ".tta.lock"

# Errors of file systems without locks, such as some network ones. There, nothing is refused.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextlib.contextmanager
def whole_file(path: Path | str) -> Iterator[BinaryIO]:
    """Opens a file for writing that appears under its name only when it is complete.

    The data goes to `.name.tmp` in the same folder. When the `with` block ends, the data is synced
    to disk and the file is renamed. When the block raises, the temporary file is removed and the
    target stays unchanged. A killed process leaves its temporary file; the next writer reuses it.

    Args:
        path: the file; replaced if it exists. A symbolic link stays a link.

    Yields:
        A binary stream.

    Raises:
        InputError: the file cannot be written, or another process is writing it.
        OSError: writing failed, for example because the disk is full. The error has the path.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.tmp")
    try:
        lock = _lock(temporary)
    except BlockingIOError:
        raise InputError("another process is writing it", path) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path) from None
    try:
        os.ftruncate(lock, 0)
        try:
            with io.BufferedWriter(_NamedFile(os.dup(lock), path)) as stream:
                yield stream
                stream.flush()
                os.fsync(lock)
            os.replace(temporary, target)
        except BaseException:
            # Not after the renaming: the temporary name may then be the next writer's.
            temporary.unlink(missing_ok=True)
            raise
    finally:
        os.close(lock)


@contextlib.contextmanager
def locked_folder(folder: Path | str) -> Iterator[None]:
    """Locks an existing folder. Other processes that lock it are refused meanwhile.

    Raises:
        InputError: another process has locked the folder.
    """
    path = Path(folder) / LOCK_FILE
    try:
        lock = _lock(path)
    except BlockingIOError:
        raise InputError("another process is writing there", folder) from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def _lock(path):
    """Opens a file and locks it; creates it if it is missing.

    Returns:
        Its descriptor, for reading and writing. Closing it releases the lock.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            with contextlib.suppress(FileNotFoundError):
                _flock(descriptor)
                # The previous owner may have renamed or removed the file before we got the lock.
                if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


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
