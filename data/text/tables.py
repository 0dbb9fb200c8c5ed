"""Rows of a table, read and written: cells between tabs, or between commas (csv)."""

import contextlib
import csv
import itertools
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, TextIO

from tta.data.text.files import open_output
from tta.data.text.json_text import expect, load_json
from tta.data.text.parquet import SUFFIX, ParquetWriter
from tta.errors import InputError, located

# A first line of nothing but such names is a header, too.
_USUAL_NAMES = {
    *("label", "labels", "class", "category", "target", "sentiment", "gold", "gold_label"),
    *("intent", "topic", "tag", "y", "stars", "rating", "id", "idx", "index"),
    *("text", "text1", "text2", "text_a", "text_b", "sentence", "sentence1", "sentence2"),
    *("sentence_a", "sentence_b", "review", "content", "utterance", "tweet", "comment", "title"),
    *("document", "passage", "query", "question", "question1", "question2", "premise"),
    *("hypothesis", "sent1", "sent2", "s1", "s2", "score", "similarity", "relatedness"),
    *("good", "bad", "acceptable", "unacceptable", "grammatical", "ungrammatical"),
}

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
# How the names of files of JSON lines end.
_OBJECTS = re.compile(r"\.(jsonl|ndjson|json)(\.(gz|xz|bz2))?$")


def is_number(cell: str | bytes) -> bool:
    """Whether `float` reads a cell."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def table_rows(
    lines: Iterable[str],
    path: Path | str,
    has_commas: Callable[[list[str]], bool] = lambda cells: True,
) -> Iterator[tuple[int, list[str]]]:
    """Yields (number of its first line, from 1; its cells) of each row that is not blank.

    If the first row has a tab, cells are separated by tabs, and quotes are part of the text.
    Otherwise the lines are csv: a cell in quotes may hold commas and line ends.

    If the first row is a JSON object, each row is one (JSON lines). The keys of the first one come
    first, as a header on line 0, and the cells of every row are their values. Other keys are left
    out.

    Args:
        lines: of the file, without line ends.
        path: the file, for errors.
        has_commas: called with the cells of a first row without a tab. If it returns false, commas
            separate nothing, and each line is one cell.

    Raises:
        InputError: the csv or JSON is malformed, or an object lacks a key.
    """
    lines, number = iter(lines), 1
    for first in lines:
        if first.strip():
            break
        number += 1
    else:
        return
    lines = itertools.chain([first], lines)
    if _is_object(first):
        yield from _object_rows(lines, path, number)
        return
    begin = number
    try:
        delimiter = "\t" if "\t" in first else None
        if delimiter or not has_commas(next(csv.reader([first]))):
            for place, line in enumerate(lines, number):
                if line.strip():
                    yield place, line.split("\t") if delimiter else [line]
            return
        reader = csv.reader((line + "\n" for line in lines), strict=True)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield begin, cells
            begin = number + reader.line_num
    except csv.Error as error:
        raise InputError(f"malformed csv: {error}", path, begin) from None


def _is_object(line):
    try:
        return line.lstrip()[:1] == "{" and isinstance(json.loads(line), dict)
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):  # thousands of digits or brackets
        return True


def _object_rows(lines, path, number):
    """The rows of JSON lines, the first of which is on line `number`."""
    keys: list[str] = []
    for place, line in enumerate(lines, number):
        if not line.strip():
            continue
        with located(path=path):
            row = expect(load_json(line, place), dict, "a row", place)
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError("a text holds half a surrogate pair", path, place) from None
        if not keys:
            keys = list(row)
            yield 0, keys
        missing = next((key for key in keys if key not in row), None)
        if missing is not None:
            raise InputError(f"the key {missing!r} is missing", path, place)
        yield place, [_cell(row[key]) for key in keys]


def _shown(names):
    """Names of columns for an error, shortened."""
    return textwrap.shorten(", ".join(repr(name)[:80] for name in names), 200, placeholder=" ...")


def _cell(value):
    """A value of JSON as a cell; null is empty."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def are_usual_names(cells: Iterable[str]) -> bool:
    """Whether all cells of a row are usual names of columns, so that it is a header.

    A name may also be made of them, as in `sentence_good` and `Good-Sentence`.
    """
    return all(_is_usual_name(cell.strip().lower()) for cell in cells)


def _is_usual_name(name: str) -> bool:
    return name in _USUAL_NAMES or _USUAL_NAMES.issuperset(re.split("[-_]", name))


def split_row(line: str, delimiter: str = ",", number: int | None = None) -> list[str]:
    """The cells of a row on one line. Only between commas can quotes be around a cell.

    Raises InputError if the csv is malformed; it names the line `number`.
    """
    if delimiter != ",":
        return line.split(delimiter)
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error as error:
        raise InputError(f"malformed csv: {error}", line=number) from None


def semicolon_hint(cells: list[str]) -> str:
    """Returns the end of an error message about a row that semicolons separate, or ""."""
    if len(cells) == 1 and ";" in cells[0]:
        return "; semicolons separate no columns, commas or tabs do"
    return ""


def column_cells(lines: Iterable[str], path: Path | str, column: str) -> Iterator[tuple[int, str]]:
    """Yields (number of the row's first line, cell) of a column of a table; see `table_rows`.

    Args:
        lines, path: as in `table_rows`.
        column: a name, and the first row is a header; or a number from 1, and there is no header.
            Of JSON lines, a key or its number.

    A file may be empty if it needs no header: JSON lines by its ending, or a table whose column has
    a number.

    Raises:
        InputError: there is no such column, a row has too few or too many columns, or the csv is
            malformed.
    """
    rows = table_rows(lines, path)
    line, first = next(rows, (0, None))
    if first is None:
        if not (column.isdecimal() or _OBJECTS.search(str(path))):
            raise InputError(f"no column is named {column!r}: the file is empty", path)
        return
    names = [cell.strip() for cell in first]
    place = int(column[:9]) - 1 if column.isdecimal() else None  # no table has a billion
    if place is None:
        if names.count(column) != 1:
            how = "several columns are" if column in names else "no column is"
            rule = f"{how} named {column!r}; the first row has {_shown(names)}"
            raise InputError(rule + semicolon_hint(names), path, line or None)
        place = names.index(column)
    else:
        if not 0 <= place < len(names):
            rule = f"no column {column}: the first row has {len(names)}"
            raise InputError(rule, path, line or None)
        if line:
            rows = itertools.chain([(line, first)], rows)
    for line, cells in rows:
        if len(cells) != len(names):
            raise InputError(f"expected {len(names)} columns, got {len(cells)}", path, line)
        yield line, cells[place]


def delimiter_of(path: Path | str) -> str | None:
    """A comma if the name of a file ends in .csv, a tab if in .tsv, also before .gz; else None."""
    suffixes = PurePath(path).suffixes[-2:]
    return next(
        (_DELIMITERS[suffix] for suffix in reversed(suffixes) if suffix in _DELIMITERS), None
    )


def row_writer(
    stream: TextIO, path: Path | str, default: str | None = None
) -> Callable[[Mapping[str, Any]], object]:
    """A function that writes a row: csv or tab-separated by the file's ending, else a JSON line.

    A table begins with a header, the keys of the first row. A list in a cell is JSON, and None
    is an empty cell. Tab-separated cells have no quotes; white space in a text becomes a blank. A
    number has the fewest digits that read back as the same float32.

    Args:
        stream, path: the open file and its name.
        default: the delimiter for other endings than .csv and .tsv; None writes JSON lines.
    """
    delimiter = delimiter_of(path) or default

    def as_json(value):
        short = json.loads(json.dumps(value), parse_float=_short)
        return json.dumps(short, ensure_ascii=False)

    if delimiter is None:
        # One call: an interrupt leaves whole lines.
        return lambda row: stream.write(as_json(row) + "\n")
    table = csv.writer(stream, lineterminator="\n")
    has_header = False

    def write(row):
        nonlocal has_header
        for values in [row.values()] if has_header else [row, row.values()]:
            cells = [v if isinstance(v, str) else "" if v is None else as_json(v) for v in values]
            if delimiter == ",":
                table.writerow(cells)
            else:
                stream.write(delimiter.join(" ".join(cell.split()) for cell in cells) + "\n")
        has_header = True

    return write


def write_columns(stream: TextIO, path: Path | str, row: dict[str, Any]) -> None:
    """Writes the columns of a row in place of rows, where a file has none.

    They are the header of a table, the schema of Parquet, and nothing of JSON lines. Arguments as
    those of `row_writer`; the file has no row.
    """
    if isinstance(stream, ParquetWriter):
        stream.put_example(row)
    elif row and (delimiter := delimiter_of(path)):
        csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerow(row)


@contextlib.contextmanager
def open_rows(
    path: str | None, overwrite: bool = False, default: str | None = None
) -> Iterator[Callable[[Mapping[str, Any]], object] | None]:
    """Opens an output as `open_output` does: gives its `row_writer`, or None without a path."""
    if path is None:
        yield None
        return
    with open_output(path, overwrite) as stream:
        yield row_writer(stream, path, None if path.endswith(SUFFIX) else default)


def _short(digits: str) -> float:
    """The number, with fewer digits if it is in the range of float32."""
    import numpy as np  # not needed for --help

    value = float(digits)
    return float(str(np.float32(value))) if 1e-37 < abs(value) < 3e38 else value
