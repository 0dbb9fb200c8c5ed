"""Reads and writes N-best lists: files or folders to lists of `NBestList` and back.

A score in memory is always a natural log, higher is better, in every format. Lists are usually
written in the format that they were read from:

>>> file = read_nbest("dev.json")
>>> reranked = [dataclasses.replace(l, hypotheses=best_first(l)) for l in file.lists]
>>> write_nbest("dev.reranked.json", reranked, file.format)
"""

import contextlib
import itertools
import math
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from tta.data.nbest.folders import open_output_folder
from tta.data.nbest.formats import FORMATS, load_format
from tta.data.nbest.formats.base import HEAD_ROWS, Format, Source
from tta.data.nbest.lists import ListCollector, NBestList, shown
from tta.data.nbest.references import read_references
from tta.data.text.files import STANDARD_STREAM, open_output, shown_path, withdrawn
from tta.data.text.lines import MAX_LINE_BYTES, iter_lines
from tta.errors import InputError, located

# The longest line of a format that may have a whole list or file in one line, such as JSON.
MAX_DOCUMENT_BYTES = 1 << 28


@dataclass(frozen=True)
class NBestFile:
    """The lists of one file, in the order of the file, and the name of its format."""

    lists: list[NBestList]
    format: str


def read_nbest(
    path: Path | str,
    format: str | None = None,
    reference_file: Path | str | None = None,
    score_file: Path | str | None = None,
    beam_size: int | None = None,
) -> NBestFile:
    """Reads a file of N-best lists.

    Either all hypotheses have a score or none, and either all lists have a reference or none. A
    list may be empty, but not all of them.

    Args:
        path: the file, `-` for standard input, plain or compressed; or the folder of a format
            that is a folder.
        format: a key of `FORMATS`; None detects it from the content.
        reference_file: references that replace those of the file; see
            `tta.data.nbest.references.read_references`.
        score_file: the costs of a Kaldi list (`utt-N cost`, negative natural log).
        beam_size: hypotheses per list, for formats that do not separate lists (NeMo's TSV).

    Raises:
        InputError: a file is missing, empty or malformed, or breaks a rule above; the message
            names file, line (if there is one) and rule.
    """
    read = list(_read(path, format, score_file, beam_size, open))
    name, lists = read[0][0], [nbest for _, nbest in read]
    if reference_file is not None:
        references = read_references(reference_file, [nbest.utterance_id for nbest in lists])
        lists = [replace(nbest, reference=r) for nbest, r in zip(lists, references, strict=True)]
    return NBestFile(lists, name)


def iter_nbest(
    path: Path | str,
    format: str | None = None,
    beam_size: int | None = None,
    opener: Callable[..., Any] = open,
) -> Iterator[NBestList]:
    """Reads a file of N-best lists one by one, for files that do not fit in memory.

    Only one list of a JSONL file, and all ids, are in memory. Files in other formats are read as a
    whole.

    The arguments, lists and errors are those of `read_nbest`; `opener` is as in
    `tta.data.text.files.open_input`. Folders are only read without an `opener`. Errors are raised
    while iterating.
    """
    for _, nbest in _read(path, format, None, beam_size, opener):
        yield nbest


def write_nbest(
    target: Path | str | TextIO,
    lists: Sequence[NBestList],
    format: str,
    overwrite: bool = False,
) -> None:
    """Writes N-best lists in a format of `FORMATS`, with hypotheses in the order given.

    The target is a path (`-` for standard output) or a text stream; see `open_nbest_output`. Other
    contents of the original file (`extra`) are written back if the format is the same.

    Raises:
        InputError: a file exists already or cannot be written, a score is not finite, or the
            format cannot hold a text (a line break) or an empty list, needs scores that are
            missing, or is a folder and the target a stream.
    """
    if isinstance(target, (str, Path)):
        scored = any(h.score is not None for nbest in lists for h in nbest.hypotheses)
        with open_nbest_output(target, format, overwrite, scored) as write:
            write(lists)
        return
    chosen = load_format(format)
    if chosen.is_folder:
        raise InputError(f"{format} lists are a folder, not a stream")
    _check_writable(lists, chosen)
    chosen.write(lists, target)


@contextlib.contextmanager
def open_nbest_output(
    path: Path | str, format: str, overwrite: bool = False, has_scores: bool = True
) -> Iterator[Callable[[Sequence[NBestList]], None]]:
    """Opens a file or folder for lists, and yields the function that writes them, once.

    The file or folder appears, complete, when the `with` block ends; nothing appears if it raises.
    The costs of a Kaldi file go to the same name with `.scores` added, unless `has_scores` is
    false.

    Args:
        path: a file, `-` for standard output, or a folder if the format is one.
        format: a key of `FORMATS`.
        overwrite: whether existing files, or a folder of N-best lists, may be replaced.

    Raises:
        InputError: as `write_nbest`.
    """
    chosen = load_format(format)
    with contextlib.ExitStack() as stack:
        if chosen.is_folder:
            folder = stack.enter_context(open_output_folder(path, overwrite))

            def write(lists):
                _check_writable(lists, chosen)
                chosen.write_folder(lists, folder)
        else:
            stream, costs = stack.enter_context(open_output(path, overwrite)), None
            if "score_file" in chosen.takes and has_scores and str(path) != STANDARD_STREAM:
                costs = stack.enter_context(open_output(f"{path}.scores", overwrite))
                stack.enter_context(withdrawn(path))

            def write(lists):
                _check_writable(lists, chosen)
                chosen.write(lists, stream)
                if costs is not None:
                    chosen.write_scores(lists, costs)

        yield write


def _check_writable(lists, chosen):
    for nbest in lists:
        for hypothesis in nbest.hypotheses:
            if hypothesis.score is not None and not math.isfinite(hypothesis.score):
                rule = f"list {shown(nbest.utterance_id)}: score {hypothesis.score} is not finite"
                raise InputError(rule)
        if not nbest.hypotheses and not chosen.has_long_lines:
            rule = f"list {shown(nbest.utterance_id)}: {chosen.name} cannot hold an empty list"
            raise InputError(rule)


def _read(path, format, score_file, beam_size, opener) -> Iterator[tuple[str, NBestList]]:
    """Yields the name of the format and a list, for each list."""
    if beam_size is not None and beam_size < 1:
        raise InputError(f"the beam size must be at least 1, got {beam_size}")
    collector = ListCollector()
    with located(path=shown_path(path)):
        if opener is open and str(path) != STANDARD_STREAM and os.path.isdir(path):
            lines, head, folder = iter(()), [], Path(path)
        else:
            if format and load_format(format).is_folder:
                raise InputError(f"{format} lists are {load_format(format).layout}, not a file")
            lines, folder = iter_lines(path, opener, MAX_DOCUMENT_BYTES), None
            head = _head(lines)
        chosen = _choose(format, Source(head, score_file, beam_size, folder))
        lines = itertools.chain(head, lines)
        with contextlib.nullcontext() if format else _detected(chosen):
            if chosen.is_streamed:
                for number, line in enumerate(lines, 1):
                    if line.strip(" "):
                        chosen.read_row(number, line, collector)
                        yield from ((chosen.name, nbest) for nbest in collector.take())
            else:
                source = Source(list(lines), score_file, beam_size, folder)
                for number, line in source.rows if not chosen.has_long_lines else ():
                    if len(line) > MAX_LINE_BYTES:
                        rule = f"a line is longer than {MAX_LINE_BYTES:,} bytes"
                        raise InputError(rule, line=number)
                if source.rows or folder:
                    chosen.read(source, collector)
                yield from ((chosen.name, nbest) for nbest in collector.take())
            if not collector.count:
                raise InputError(f"the {'folder' if folder else 'file'} holds no list")
            if collector.has_scores is None:
                raise InputError("all lists are empty")


@contextlib.contextmanager
def _detected(format: Format):
    """Adds the name of the detected format to errors in the file."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(f"{error.rule} (read as {format.name})", None, error.line) from None


def _head(lines):
    """Takes as many lines from an iterator as `Source.head` needs."""
    head, rows = [], 0
    for line in lines:
        head.append(line)
        rows += bool(line.strip(" "))
        if rows == HEAD_ROWS:
            break
    return head


def _choose(name, source) -> Format:
    """Loads the named format or detects it; checks that it takes the options of the source."""
    chosen = load_format(name) if name else _detect(source)
    if source.folder and not chosen.is_folder:
        raise InputError(f"{chosen.name} lists are a file: expected a file, got a folder")
    for option in ("score_file", "beam_size"):
        if getattr(source, option) is not None and option not in chosen.takes:
            raise InputError(f"the format {chosen.name} takes no {option.replace('_', ' ')}")
    return chosen


def _detect(source) -> Format:
    if not source.rows and not source.folder:
        raise InputError("the file is empty")
    formats = [load_format(name) for name in FORMATS]
    of_kind = [format for format in formats if format.is_folder == bool(source.folder)]
    found = [format for format in of_kind if format.matches(source)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(format.name for format in found)
        raise InputError(f"could be {names}: name the format")
    rule = f"no known format of N-best lists; it looks like {_appearance(source)}"
    for format in of_kind if source.folder else formats:
        if missing := format.missing(source):
            nearest = f"the nearest is {format.name}, {format.layout}; missing: {missing}"
            raise InputError(f"{rule}; {nearest}")
    raise InputError(f"{rule}; these are known: {', '.join(FORMATS)}")


def _appearance(source):
    """What a source looks like, in words."""
    if source.folder:
        return "a folder"
    first = source.start.lstrip()
    if first.startswith("{"):
        is_lines = len(source.head) > 1 and all(row.lstrip()[:1] == "{" for row in source.head)
        return "JSON objects, one per line" if is_lines else "a JSON object"
    if re.match(r'\[\s*(\[|\{|"|$)', first):
        return "a JSON array"
    if first.startswith("<"):
        return "XML or HTML"
    for separator, name in {"\t": "tabs", ",": "commas", "|||": "|||"}.items():
        counts = {row.count(separator) for row in source.head}
        if len(source.head) > 1 and len(counts) == 1 and 0 not in counts:
            return f"a table of {counts.pop() + 1} columns, separated by {name}"
    if all(re.match(r"\S*[0-9]\S*\s+\S", row) for row in source.head):
        return "an id and words on each line"
    return "plain text, one sentence per line"
