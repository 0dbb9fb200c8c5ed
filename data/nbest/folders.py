"""Folders of N-best lists that are either complete or absent."""

import contextlib
import os
import re
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path

from tta.atomic import whole_folder
from tta.data.text.files import STANDARD_STREAM
from tta.errors import InputError

# What an ESPnet 2 folder consists of. Only such a folder is replaced.
_OURS = re.compile(r"[0-9]+best_recog(/(text|score|token|token_int))?")


@contextlib.contextmanager
def open_output_folder(
    path: Path | str, overwrite: bool = False, names: Collection[str] = ()
) -> Iterator[Path]:
    """Yields an empty folder. It gets its name when the `with` block ends, or is removed.

    Args:
        path: the name of the folder.
        overwrite: whether a folder of N-best lists, without other files, may be replaced.
        names: the files that will be written, if it is a folder of files of one format; () for the
            folders of ESPnet 2.

    Raises:
        InputError: the path exists and may not be replaced, is standard output, or its parent is
            missing or not writable.
        OSError: writing failed. The error names the path.
    """
    if str(path) == STANDARD_STREAM:
        raise InputError("expected a folder to write, got standard output")
    check = partial(_check_replaceable, path, overwrite, names)
    check()
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"no such folder: {target.parent}", path)
    with whole_folder(path, check) as folder:
        yield folder


def _check_replaceable(path, overwrite, names):
    if not os.path.lexists(path):
        return
    if not os.path.isdir(path):
        raise InputError("expected a folder to write, got a file", path)
    if not overwrite:
        raise InputError("exists; pass --overwrite to replace it", path)
    for found in sorted(Path(path).rglob("*")):
        name = found.relative_to(path).as_posix()
        if name not in names if names else not _OURS.fullmatch(name):
            raise InputError(f"has {name}, which is not of N-best lists: it is not replaced", path)
