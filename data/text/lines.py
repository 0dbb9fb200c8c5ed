"""Lines of text: one decoder for all text files, several files as one stream, uniform samples."""

import bisect
import contextlib
import glob
import os
import random
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tta.data.text.encodings import CONTROLS, check_first_line, check_line
from tta.data.text.files import (
    STANDARD_STREAM,
    PipeReader,
    each_path,
    open_input,
    open_pipe,
    shown_path,
)
from tta.data.text.parquet import (
    ParquetFiles,
    is_parquet,
    json_lines,
    parquet_files,
    values_of,
)
from tta.data.text.progress import tqdm
from tta.data.text.tables import column_cells, delimiter_of
from tta.doors import option_named
from tta.errors import InputError

# Longer lines are refused: reading one would take unbounded memory.
MAX_LINE_BYTES = 1 << 20

# `TextReader.heads` has so many lines of so many files, and of a line so many characters.
_HEAD_LINES, _HEAD_FILES, _HEAD_CHARACTERS = 50, 100, 1000

_WHOLE_LINES = "whole lines were read, but they look like those of a table; "


def iter_lines(
    path: Path | str,
    max_bytes: int = MAX_LINE_BYTES,
    strip: bool = False,
    may_be_empty: bool = False,
) -> Iterator[str]:
    """Yields the lines of a UTF-8 text file one at a time, without their line ends.

    Only `\\n` and `\\r\\n` end a line: U+2028 and similar characters are part of the text. A byte
    order mark at the begin of a line is removed: files that were joined have them in the middle.
    The lines of Parquet are its rows, as JSON.

    Args:
        path: as in `tta.data.text.files.open_input`.
        max_bytes: the longest line allowed, its line end included.
        strip: whether to remove white space around lines and to skip blank lines.
        may_be_empty: whether a file of zero bytes is allowed.

    Raises:
        InputError: the file cannot be read (see `open_input`), is empty, is not UTF-8, has other
            line ends, or has a line longer than `max_bytes`. Errors name the line.
    """
    if is_parquet(str(path)):
        yield from json_lines(str(path), max_bytes)
        return
    with open_input(path) as stream:
        yield from _decoded(stream, shown_path(path), max_bytes, strip, may_be_empty)


def _decoded(stream, shown, max_bytes, strip, may_be_empty):
    """Yields the lines of a binary stream; see `iter_lines`. `shown` is its path in errors."""
    number = 0
    try:
        while raw := stream.readline(max_bytes + 1):
            number += 1
            if number == 1:
                raw = check_first_line(raw, shown)
            elif not raw.isascii() or b"\r" in raw:
                raw = check_line(raw, shown, number)
            if len(raw) > max_bytes:
                raise InputError(f"a line is longer than {max_bytes:,} bytes", shown, number)
            line = raw.decode().removesuffix("\n").removesuffix("\r")
            if strip:
                line = line.strip()
            if line or not strip:
                yield line
    except UnicodeDecodeError as error:
        rule = f"expected UTF-8, got byte 0x{error.object[error.start]:02x}"
        if not CONTROLS.search(error.object):
            rule += "; iconv -f CP1252 -t UTF-8 converts text of Windows"
        raise InputError(rule, shown, number) from None
    if number == 0 and not may_be_empty:
        raise InputError("the file is empty", shown)


def matching_files(pattern: str) -> list[str]:
    """The local files that match a path, a glob (`**` crosses folders) or `-`.

    A folder stands for all files in it and in its folders, except hidden ones. Folders that a glob
    matches are left out.
    """
    if pattern == STANDARD_STREAM or os.path.isfile(pattern):
        return [pattern]  # The name of a file may contain glob characters.
    if os.path.isdir(pattern):
        if files := parquet_files(pattern):
            return files
        pattern = os.path.join(glob.escape(pattern), "**")
    # Pipes are files, too.
    return [path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path)]


def texts_of(pattern: str) -> list[str]:
    """As `matching_files`; of a folder with .txt files only these, plain or compressed."""
    files = matching_files(pattern)
    texts = [file for file in files if re.search(r"\.txt(\.(gz|bz2|xz))?$", file)]
    return texts if texts and os.path.isdir(pattern) else files


def expand_globs(
    patterns: Iterable[str], match: Callable[[str], list[str]] = matching_files
) -> list[str]:
    """Lists the files that match patterns, each file once, sorted within a pattern.

    A pattern is a path, a folder, a glob or `-` for standard input; `match` finds the files of one
    pattern. Raises InputError if a pattern matches no file, or there is no pattern.
    """
    paths: dict[str, None] = {}  # A dict keeps the order of the patterns and drops repeats.
    for pattern in filter(None, map(str.strip, patterns)):
        files = match(pattern)
        if not files:
            raise InputError("no file matches", pattern)
        paths.update(dict.fromkeys(sorted(files)))
    if not paths:
        raise InputError("no input file was given")
    return list(paths)


class JoinedLines:
    """The lines of several files, one file after another.

    A path to a file or `-` is read as it is, even if its name has characters of a glob.

    Attributes:
        paths: the files, sorted by name if they are those of a glob.
        starts: how many lines come before each file that was begun.

    Args:
        path: a path or a glob (`**` crosses folders), or several of them.
        max_bytes: as in `iter_lines`, whose errors it raises.

    Raises:
        InputError: no file matches a glob, or a file is there twice.
    """

    def __init__(self, path: Path | str | Sequence[Path | str], max_bytes: int = MAX_LINE_BYTES):
        self.paths = [file for pattern in each_path(path) for file in _files_of(pattern)]
        for number, file in enumerate(self.paths):
            if file in self.paths[:number]:
                raise InputError("the file is given twice", file)
        self._max_bytes = max_bytes
        self.starts: list[int] = []

    def __iter__(self) -> Iterator[str]:
        count = 0
        for path in self.paths:
            self.starts.append(count)
            for line in iter_lines(path, self._max_bytes):
                count += 1
                yield line

    @contextlib.contextmanager
    def naming_files(self) -> Iterator[None]:
        """Errors in a line that name no file get that of the line, and its number there."""
        try:
            yield
        except InputError as error:
            if error.path is not None or error.line is None or len(self.paths) == 1:
                raise
            raise InputError(error.rule, *self.place(error.line)) from None

    def place(self, line: int) -> tuple[Path | str, int]:
        """The file that has a line of all, and the number of the line there."""
        number = file_of(self.starts, line)
        return shown_path(self.paths[number]), line - self.starts[number]


def file_of(starts: Sequence[int], line: int) -> int:
    """Which of several files has a line of all, from 0; `starts` as in `JoinedLines`."""
    return max(bisect.bisect_left(starts, line) - 1, 0)


def _files_of(path: Path | str) -> Sequence[Path | str]:
    """The files that a glob matches, sorted by name; or the path."""
    is_glob = not os.path.exists(path) and bool(re.search(r"[*?\[]", str(path)))
    return expand_globs([str(path)]) if is_glob else [path]


def named_files(names: str) -> list[str]:
    """The files of comma-separated paths, folders and globs in one string; see `expand_globs`.

    The name of a file may have commas. A path to nothing is an error of its reader.
    """
    if not os.path.isdir(names) and (os.path.isfile(names) or not re.search(r"[,*?\[]", names)):
        return [names]
    return expand_globs(names.split(","))


class TextReader:
    """Iterates over the lines (str) of several text files, with one line in memory at a time.

    White space around lines is removed and blank lines are skipped, unless the reader is
    `verbatim`. See `iter_lines` for compression, line ends and errors. A file may be empty. The
    path `-` is standard input. With `ends_files`, a blank line follows each file. With a `column`,
    the files are tables, and the reader iterates over the cells of that column (`column_cells`).

    Attributes:
        has_columns: whether the command has a flag --column, for `notes`.
        heads: the path and the first lines of each of the first files that were read, without
            white space around lines, without blank ones, and cut.
        total_bytes: the size of all files as stored (compressed), or None if one of them is
            standard input or a pipe.
        bytes_read: how many of these bytes were read so far; 0 if `total_bytes` is None.

    Raises:
        InputError: while iterating; see `iter_lines`.
        OSError: a file does not exist.
    """

    def __init__(
        self,
        paths: Iterable[str],
        verbatim: bool = False,
        ends_files: bool = False,
        column: str | None = None,
        has_columns: bool = False,
    ):
        self._paths = list(paths)
        self.has_columns = has_columns
        self.heads: list[tuple[Path | str, list[str]]] = []
        self._column = column
        # (number of a line that was yielded, its path, its number in the file minus the first one),
        # where the last two change.
        self._places: list[tuple[int, Path | str, int]] = []
        self._ends_files = ends_files
        self._verbatim = verbatim
        self._sizes = [_stored_size(path) for path in self._paths]
        self.total_bytes = None if None in self._sizes else sum(filter(None, self._sizes))
        self._finished_bytes = 0
        self._stored: Any = None
        self._lines: Any = None  # the file that is being read, decompressed
        # Whether every line so far has a tab; None before the first one.
        self._all_have_tabs: bool | None = None

    @property
    def bytes_read(self) -> int:
        if self.total_bytes is None:  # The position in a pipe is unknown.
            return 0
        return self._finished_bytes + (self._stored.tell() if self._stored else 0)

    def is_ready(self, seconds: float) -> bool:
        """Whether the next line is there within a number of seconds.

        It is always there in a file. A compressed pipe cannot tell, and counts as a file.
        """
        return not isinstance(self._lines, PipeReader) or self._lines.is_ready(seconds)

    def notes(self) -> list[str]:
        """A note if the lines look like rows: each has a tab, or a file is named as a table."""
        is_named = any(map(delimiter_of, self._paths)) and self._all_have_tabs is not None
        if self._column is not None or not (self._all_have_tabs or is_named):
            return []
        chosen = f"{option_named('column')} chooses the column of the sentences"
        return [_WHOLE_LINES + (chosen if self.has_columns else "give the sentences alone")]

    def place(self, number: int) -> tuple[Path | str, int]:
        """The file and the line of the n-th text that was yielded; all count from 1."""
        at = bisect.bisect(self._places, number, key=lambda place: place[0]) - 1
        _, path, offset = self._places[at]
        return path, number + offset

    def __iter__(self) -> Iterator[str]:
        number = 0
        for path, size in zip(self._paths, self._sizes, strict=True):
            opener = open_pipe if size is None else self._open
            head: list[str] = []
            if self._column is None and len(self.heads) < _HEAD_FILES:
                self.heads.append((shown_path(path), head))
            with open_input(path, opener) as self._lines:
                offset = None
                for line, text in self._numbered(shown_path(path)):
                    number += 1
                    if self._all_have_tabs is not False and text.strip():
                        self._all_have_tabs = "\t" in text
                    if len(head) < _HEAD_LINES and (row := text.strip()):
                        head.append(row[:_HEAD_CHARACTERS])
                    if line - number != offset:
                        offset = line - number
                        self._places.append((number, shown_path(path), offset))
                    yield text
            if self._ends_files:
                number += 1
                yield ""
            self._finished_bytes += size or 0
            self._stored = None

    def _numbered(self, path):
        """Yields the lines or cells of the open file, with the numbers of their lines."""
        lines = _decoded(self._lines, path, MAX_LINE_BYTES, False, True)
        numbered = enumerate(lines, 1)
        if self._column is not None:
            numbered = column_cells(lines, path, self._column)
        if self._verbatim:
            return numbered
        return ((line, text) for line, raw in numbered if (text := raw.strip()))

    def _open(self, path, mode):
        self._stored = open(path, mode)  # noqa: SIM115 - open_input closes it
        return self._stored


class GivenTexts(TextReader):
    """A `TextReader` of texts in memory."""

    def __init__(self, texts: Iterable[str]):
        super().__init__([])
        self._texts = list(texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def notes(self) -> list[str]:
        names = filter(os.path.isfile, self)
        return [
            f"{name!r} is a text here; {option_named('input_file', name)} reads the file"
            for name in names
        ]

    def place(self, number: int) -> tuple[Path | str, int]:
        return "<text>", number


class ParquetReader(TextReader):
    """A `TextReader` of a column of Parquet files, whose lines are rows.

    Raises:
        InputError: as `ParquetFiles` and `values_of`; there is no such column of strings, one is
            null, or longer than a line may be.
    """

    def __init__(self, paths: Iterable[str], column: str | None):
        super().__init__(paths)
        self.files = ParquetFiles(self._paths)
        self._column, names = column or "", self.files.schema.names
        if names.count(column) != 1:
            rule = (
                f"expected one column {column!r}"
                if column
                else f"{option_named('column')} chooses the column"
            )
            raise InputError(f"{rule}; the file has {', '.join(names)}", self._paths[0])

    def __iter__(self) -> Iterator[str]:
        number, first, last = 0, 0, None
        sizes = dict(zip(self._paths, self._sizes, strict=True))
        for path, rows, batch in self.files.batches(self._column):
            if path != last:
                self._places.append((number + 1, path, -number))
                first, last = number, path
            texts = values_of(batch.column(0), self._column, path, number - first + 1)
            for text in texts:
                number += 1
                if text is None:
                    raise InputError(f"column {self._column!r} is null", path, number - first)
                if len(text.encode()) > MAX_LINE_BYTES:
                    rule = f"a text is longer than {MAX_LINE_BYTES:,} bytes"
                    raise InputError(rule, path, number - first)
                yield text
            self._finished_bytes += (sizes[path] or 0) * len(batch) // max(rows, 1)


def print_notes(notes: Iterable[str]) -> None:
    """Prints notes to standard error."""
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def bytes_bar(reader: TextReader, what: str) -> Any:
    """A progress bar over the bytes of a reader, on standard error."""
    size = reader.total_bytes
    return tqdm(total=size, unit="B", unit_scale=True, desc=what)


def sample_lines(reader: TextReader, size: int, seed: int) -> list[str]:
    """Draws `size` lines of a `TextReader` uniformly, or returns all if it has fewer.

    At most `size` lines are in memory (reservoir sampling, Vitter's algorithm R).
    """
    rng = random.Random(seed)
    sample: list[str] = []
    with bytes_bar(reader, "reading") as bar:
        for index, line in enumerate(reader):
            if index < size:
                sample.append(line)
            elif (slot := int(rng.random() * (index + 1))) < size:
                sample[slot] = line
            if index % 10_000 == 0:
                bar.update(reader.bytes_read - bar.n)
        bar.update(reader.bytes_read - bar.n)
    return sample


def _stored_size(path):
    """The size of a file in bytes, None for standard input or a pipe."""
    if path == STANDARD_STREAM:
        return None
    status = os.stat(path)
    return status.st_size if stat.S_ISREG(status.st_mode) else None
