"""Reads the references of N-best lists from a file or a folder, and gives each list its own."""

import os
from collections.abc import Sequence
from pathlib import Path

from tta.data.nbest.references.layouts import readings
from tta.data.nbest.references.matching import ListIds, match_references
from tta.data.nbest.references.reading import IdColumn, IdKind, Reading, Reference
from tta.data.text.lines import JoinedLines, iter_lines
from tta.errors import located

# The longest line. A JSON document may be one line.
MAX_LINE_BYTES = 1 << 24


def read_references(
    path: Path | str, ids: Sequence[str], partial: bool = False
) -> list[str | None]:
    """Reads the references of the lists with these utterance ids, and returns them in that order.

    The file is plain or compressed, in one of the layouts of `tta.data.nbest.references.layouts`; a
    glob names the files of one.
    References with ids may have any order. Others belong to the lists in their order; if all ids
    are line numbers, line i (from 0) belongs to the list with id i. Of a folder, each file is a
    reference, and its stem the id; if some are .txt, the others are left out.

    Args:
        partial: whether lists may lack a reference, which is then None, and references a list.

    Raises:
        InputError: the file cannot be read or is in a layout that holds no references, an id is a
            duplicate, or references and lists do not match.
    """
    lists = ListIds(ids, partial)
    if os.path.isdir(path):
        with located(path=path):
            return match_references([_read_folder(Path(path))], lists)
    joined = JoinedLines(path, MAX_LINE_BYTES)
    lines = list(joined)
    with located(path=path), joined.naming_files():
        return match_references(list(readings(lines, len(ids))), lists)


def _read_folder(folder: Path) -> Reading:
    files = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    files = [file for file in files if file.suffix == ".txt"] or files
    texts = [" ".join(iter_lines(file, strip=True, may_be_empty=True)) for file in files]
    ids = [(file.stem,) for file in files]
    return Reading([Reference(text) for text in texts], [IdColumn(IdKind.ID, ids)])
