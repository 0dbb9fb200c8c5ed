"""Files that appear whole or not at all, and folders that one process at a time writes to.

Both rest on a lock that the system takes away from a process that ends, killed or not: what a
killed one leaves behind stands in nobody's way.
"""

import contextlib
import errno
import fcntl
import io
import os
from pathlib import Path

from tta.errors import InputError

LOCK_FILE = ".tta.lock"

# File systems that have no locks, some network ones: there, nobody is refused.
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


@contextlib.contextmanager
def whole_file(path):
    """Opens a file for writing that appears under its name only when complete.

    It is written as `.name.tmp` beside the target, and renamed when the `with` block ends well and
    the disk has it; when the block raises, the temporary file is removed and the target stays as it
    was. A killed process leaves the temporary file, and the next writer takes it over.

    Args:
        path: the file; replaced if it exists. A link stays a link.

    Yields:
        A binary stream.

    Raises:
        InputError: the file cannot be written, or another process is writing it.
        OSError: writing failed, with the path: the disk is full.
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
            # Not after the renaming: what has that name then is the next writer's.
            temporary.unlink(missing_ok=True)
            raise
    finally:
        os.close(lock)


@contextlib.contextmanager
def locked_folder(folder):
    """Keeps other processes that ask for the same from writing to a folder, which exists.

    Raises:
        InputError: another process is writing there.
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
    """Opens a file, made if it is missing, that this process alone holds.

    Returns:
        Its descriptor, for reading and writing; closing it gives the lock back.

    Raises:
        BlockingIOError: another process holds it.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            with contextlib.suppress(FileNotFoundError):
                _flock(descriptor)
                # Whoever held it may have renamed or removed it before we got it.
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
    """A file whose errors name it as the user did: the system says only that the disk is full."""

    def __init__(self, descriptor, path):
        super().__init__(descriptor, "wb")
        self._shown = str(path)

    def write(self, data):
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self._shown
            raise
