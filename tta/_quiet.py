"""Keeps TensorFlow's log lines out of standard error.

TensorFlow 2.21 writes to file descriptor 2 while its libraries load, before it reads
TF_CPP_MIN_LOG_LEVEL. Only redirecting the descriptor keeps these lines out.
"""

import contextlib
import importlib.machinery
import os
import re
import sys
from collections.abc import Iterator

_NOTE = re.compile(rb"WARNING: All log messages before absl::InitializeLog|[IW]0000 ")


def hide_import_notes() -> None:
    """Makes a later import of TensorFlow quiet, unless TF_CPP_MIN_LOG_LEVEL asks for log lines."""
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "3" and "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _QuietFinder())  # pyright: ignore[reportArgumentType]


def silence_tensorflow() -> None:
    """Hides TensorFlow's further notes in a command, unless --verbosity asks for them."""
    from absl import flags, logging

    if not flags.FLAGS["verbosity"].present:
        logging.set_verbosity(logging.WARNING)


def announce_tensorflow() -> None:
    """Makes a later import of TensorFlow, which takes seconds, show a line on a terminal."""
    _QuietFinder.announces = sys.stderr is not None and sys.stderr.isatty()


class _QuietFinder:
    """Finds TensorFlow where it is installed, and loads it without its log lines."""

    announces = False

    def find_spec(self, name, path=None, target=None):
        if name != "tensorflow":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
                if self.announces:
                    print("loading TensorFlow ...", file=sys.stderr, flush=True)
                with _without_notes():
                    load(module)

            spec.loader.exec_module = exec_module
        return spec


@contextlib.contextmanager
def _without_notes() -> Iterator[None]:
    """Holds back what is written to descriptor 2, and writes it at the end without the notes."""
    import tempfile

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
