"""Faults on demand: a disk that is full, a process that is killed at a certain moment."""

import contextlib
import resource
import signal


@contextlib.contextmanager
def file_size_limit(size):
    """No file of this process grows beyond `size` bytes meanwhile: what a full disk is like."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # An error, not the end.
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
