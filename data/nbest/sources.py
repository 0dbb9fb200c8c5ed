"""From a file, or a folder, to the lists in it."""

import contextlib
import itertools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tta.data.nbest.detection import choose_format, matching_formats, read_head
from tta.data.nbest.formats import load_format
from tta.data.nbest.formats.base import Format, Source
from tta.data.nbest.lists import ListCollector, NBestList
from tta.data.text.files import STANDARD_STREAM, shown_path
from tta.data.text.lines import MAX_LINE_BYTES, iter_lines
from tta.errors import InputError, located

# The longest line of a format that may have a whole list or file in one line, such as JSON.
MAX_DOCUMENT_BYTES = 1 << 28

_PACKED = (".gz", ".bz2", ".xz")


def iter_lists(
    path: Path | str,
    format: str | None,
    score_file: Path | str | None,
    beam_size: int | None,
    opener: Callable[..., Any],
) -> Iterator[tuple[Format, NBestList]]:
    """Yields the format and a list, for each list; see `tta.data.nbest.files.read_nbest`.

    Scores are those that the format reads. Lists from a folder of files know the file.
    """
    if beam_size is not None and beam_size < 1:
        raise InputError(f"the beam size must be at least 1, got {beam_size}")
    collector, options = ListCollector(), (score_file, beam_size)
    with located(path=shown_path(path)):
        if opener is open and str(path) != STANDARD_STREAM and os.path.isdir(path):
            yield from _read_folder(Path(path), format, options, collector)
            return
        if format and load_format(format).is_folder:
            raise InputError(f"{format} lists are {load_format(format).layout}, not a file")
        lines = iter_lines(path, opener, MAX_DOCUMENT_BYTES)
        head = read_head(lines)
        stem = "" if str(path) == STANDARD_STREAM else _stem(str(path))
        chosen = choose_format(format, Source(head, *options, stem=stem))
        with _read_as(chosen, format):
            if chosen.is_streamed:
                for number, line in enumerate(itertools.chain(head, lines), 1):
                    if line.strip(" "):
                        chosen.read_row(number, line, collector)
                        yield from ((chosen, nbest) for nbest in collector.take())
            else:
                source = Source([*head, *lines], *options, stem=stem)
                if format is None and (doubt := chosen.doubt(source)):
                    raise InputError(f"the file may be in the format {chosen.name}, but {doubt}")
                _read_whole(chosen, source, collector)
                yield from ((chosen, nbest) for nbest in collector.take())
            _check_any(collector, "file")


def name_in_folder(nbest: NBestList) -> str | None:
    """The name of the file that a list was read from, if that was one of a folder of files."""
    return (nbest.extra or {}).get("file")


def _read_folder(folder, format, options, collector) -> Iterator[tuple[Format, NBestList]]:
    """Reads the folder of a format that is one, or a folder of files."""
    chosen = _format_of_files(folder, format, options)
    if chosen is None:
        chosen = choose_format(format, Source((), *options, folder=folder))
        with _read_as(chosen, format):
            chosen.read(Source((), *options, folder=folder), collector)
            yield from ((chosen, nbest) for nbest in collector.take())
            _check_any(collector, "folder")
        return
    for file in _files(folder):
        with located(path=file), _read_as(chosen, format):
            lines = list(iter_lines(file, max_bytes=MAX_DOCUMENT_BYTES))
            _read_whole(chosen, Source(lines, *options, stem=_stem(file.name)), collector)
            for nbest in collector.take():
                yield chosen, replace(nbest, extra={**(nbest.extra or {}), "file": file.name})
    with _read_as(chosen, format):
        _check_any(collector, "folder")


def _read_whole(chosen, source, collector):
    for number, line in source.rows if not chosen.has_long_lines else ():
        if len(line) > MAX_LINE_BYTES:
            raise InputError(f"a line is longer than {MAX_LINE_BYTES:,} bytes", line=number)
    if source.rows:
        chosen.read(source, collector)


def _check_any(collector, what):
    if not collector.count:
        raise InputError(f"the {what} holds no list")
    if collector.has_scores is None:
        raise InputError("all lists are empty")


def _format_of_files(folder: Path, name: str | None, options) -> Format | None:
    """The format of the files of a folder; None if the folder itself should have a format."""
    if name is not None:
        return chosen if (chosen := load_format(name)).reads_folders else None
    if matching_formats(Source((), *options, folder=folder)):
        return None
    for file in _files(folder):
        opened: Any = iter_lines(file)
        with contextlib.suppress(InputError), contextlib.closing(opened) as lines:
            found = matching_formats(Source(read_head(lines), *options, stem=_stem(file.name)))
            if len(found) == 1 and found[0].reads_folders:
                return found[0]
    return None


def _files(folder: Path) -> list[Path]:
    """The files of a folder in the order of their names: those of JSON, or all if none is."""
    files = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    packed = "|".join(map(re.escape, _PACKED))
    return [p for p in files if re.search(rf"\.(json|jsonl|ndjson)({packed})?$", p.name)] or files


def _stem(path: str) -> str:
    """The name of a file without its folder, compression and suffix."""
    name = Path(path)
    return (name.with_suffix("") if name.suffix in _PACKED else name).stem


@contextlib.contextmanager
def _read_as(chosen: Format, named: str | None) -> Iterator[None]:
    """Adds the name of a format that was detected to errors in the file."""
    try:
        yield
    except InputError as error:
        if error.path is not None or named is not None:
            raise
        raise InputError(f"{error.rule} (read as {chosen.name})", None, error.line) from None
