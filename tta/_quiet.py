"""Keeps TensorFlow's log lines out of the standard error of commands.

TensorFlow 2.21 writes to file descriptor 2 while its libraries load, before it reads
TF_CPP_MIN_LOG_LEVEL. Only redirecting the descriptor keeps these lines out.
"""

import contextlib
import importlib.util
import os
import re
import sys
import tempfile
from collections.abc import Iterator

_NOTE = re.compile(rb"WARNING: All log messages before absl::InitializeLog|[IW]0000 ")


def silence_tensorflow() -> None:
    """Makes later imports of TensorFlow quiet, unless TF_CPP_MIN_LOG_LEVEL asks for log lines."""
    from absl import flags, logging

    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "3" and "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _QuietFinder())  # pyright: ignore[reportArgumentType]
    if not flags.FLAGS["verbosity"].present:
        logging.set_verbosity(logging.WARNING)


class _QuietFinder:
    """Finds TensorFlow where it is installed, and loads it without its log lines."""

    def find_spec(self, name, path=None, target=None):
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                with _without_notes():
                    load(module)

            spec.loader.exec_module = exec_module
        return spec


@contextlib.contextmanager
def _without_notes() -> Iterator[None]:
    """Holds back what is written to descriptor 2, and writes it at the end without the notes."""
    try:
        kept = os.dup(2)
    except OSError:  # descriptor 2 is closed
        yield
        return
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            written.seek(0)
            for line in written:
                if not _NOTE.match(line):
                    os.write(2, line)
