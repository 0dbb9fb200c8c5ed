"""Lets a command's standard error hold the command's own lines, and not TensorFlow's notes.

TensorFlow 2.21 writes notes to file descriptor 2 while its libraries are loaded, before it reads
TF_CPP_MIN_LOG_LEVEL. Nothing but the descriptor stops them.
"""

import contextlib
import importlib.util
import os
import re
import sys
import tempfile

_NOTE = re.compile(rb"WARNING: All log messages before absl::InitializeLog|[IW]0000 ")


def silence_tensorflow():
    """From here on an import of TensorFlow is quiet, unless TF_CPP_MIN_LOG_LEVEL asks for notes."""
    from absl import flags, logging

    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "3" and "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _QuietFinder())
    if not flags.FLAGS["verbosity"].present:
        logging.set_verbosity(logging.WARNING)


class _QuietFinder:
    """Finds TensorFlow where it is, and makes its loading quiet."""

    def find_spec(self, name, path=None, target=None):
        if name != "tensorflow":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                with _without_notes():
                    load(module)

            spec.loader.exec_module = exec_module
        return spec


@contextlib.contextmanager
def _without_notes():
    """What is written to descriptor 2 meanwhile comes out at the end, less TensorFlow's notes."""
    try:
        kept = os.dup(2)
    except OSError:  # It is closed.
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
