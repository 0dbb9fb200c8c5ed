"""The standard streams: UTF-8 like every file, and without the log lines of TensorFlow.

TensorFlow 2.21 writes to file descriptor 2 while its libraries load, before it reads
TF_CPP_MIN_LOG_LEVEL. Only redirecting the descriptor keeps these lines out.
"""

import contextlib
import importlib.machinery
import io
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

NOTE = re.compile(rb"WARNING: All log messages before absl::InitializeLog|[IW]0000 ")


def use_utf8(stream: Any, errors: str = "strict") -> None:
    """Makes a standard stream write UTF-8, whatever the locale and `PYTHONIOENCODING` say.

    `errors` is what happens to half a surrogate pair. Streams that were replaced, as in notebooks,
    stay as they are.
    """
    if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
        stream.reconfigure(encoding="utf-8", errors=errors)


def prepare_streams() -> None:
    """Makes both outputs write UTF-8. What goes to a closed standard error is dropped."""
    if sys.stderr is None:
        # No other file may get its number, to which TensorFlow writes log lines.
        while os.open(os.devnull, os.O_RDWR) < 2:
            pass
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - until the process ends
    use_utf8(sys.stdout)
    use_utf8(sys.stderr, "backslashreplace")


def quiet_tensorflow() -> None:
    """Makes a later import of TensorFlow quiet in a command, for this process and its children.

    TF_CPP_MIN_LOG_LEVEL and --verbosity ask for log lines. On a terminal, a line says that
    TensorFlow is being imported, because this takes seconds.
    """
    from absl import flags, logging

    if not flags.FLAGS["verbosity"].present:
        logging.set_verbosity(logging.WARNING)
    # At level 2, TensorFlow still reports a machine without a GPU as an error.
    is_quiet = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") == "3"
    if is_quiet and "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _QuietFinder())  # pyright: ignore[reportArgumentType]


class _QuietFinder:
    """Finds TensorFlow where it is installed, and loads it without its log lines."""

    def find_spec(self, name, path=None, target=None):
        if name != "tensorflow":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                sys.meta_path.remove(self)  # pyright: ignore[reportArgumentType]
                if sys.stderr is not None and sys.stderr.isatty():
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
        copy = os.dup(2)
    except OSError:  # descriptor 2 is closed
        yield
        return
    with tempfile.TemporaryFile() as written:
        os.dup2(written.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(copy, 2)
            os.close(copy)
            written.seek(0)
            for line in written:
                if not NOTE.match(line):
                    os.write(2, line)
