"""Labelled sentences and sentence pairs: tables with named columns."""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tta.data.text.files import shown_path
from tta.data.text.lines import iter_lines, named_files
from tta.data.text.tables import are_usual_names, table_rows
from tta.errors import InputError, shown

# The columns of the texts, if none are named: the first of these that the header has.
TEXT_COLUMNS = (("sentence1", "sentence2"), ("sentence",))
LABEL_COLUMN = "label"
NO_LABEL = "-1"  # in every row of GLUE's test parts in copies, such as those of datasets and TFDS


@dataclass(frozen=True)
class LabelledTexts:
    """A row of a table: its texts (one, or two of a pair) and their label.

    `line` is the line in the file, counted from 1, and `number` the row, counted from 0; rows that
    are left out count. The label is "" if the file has none. A text may be empty: real sets have
    such rows.
    """

    texts: tuple[str, ...]
    label: str
    line: int
    number: int = 0


@dataclass(frozen=True)
class LabelledTable:
    """The rows of a file, in its order, and the names of the columns that the texts came from.

    `num_skipped` counts the rows that were left out, and `has_labels` tells whether there is a
    column of labels.
    """

    path: str
    text_columns: tuple[str, ...]
    rows: list[LabelledTexts]
    num_skipped: int = 0
    has_labels: bool = True

    @property
    def labels(self) -> list[str]:
        """The different labels, sorted."""
        return sorted({row.label for row in self.rows})

    def notes(self) -> list[str]:
        """What a reader of results on these rows must know, one line each."""
        notes = []
        if self.num_skipped:
            rule = "rows without a text or with other columns were left out"
            notes.append(f"{self.path}: {self.num_skipped:,} {rule}")
        if empty := [row.line for row in self.rows if not all(row.texts)]:
            notes.append(f"{self.path}: {len(empty):,} with an empty text (first: line {empty[0]})")
        return notes


def read_tables(
    names: str,
    text_columns: Sequence[str] | None = None,
    label_column: str = LABEL_COLUMN,
    labels: Collection[str] | None = None,
    **options: Any,
) -> list[LabelledTable]:
    """Reads the tables of a part, which may have several files: `names` is as in `named_files`.

    All of them have the text columns of the first one. The other arguments are those of
    `read_table`. Raises InputError as `read_table`, or only some of the files have labels.
    """
    tables: list[LabelledTable] = []
    for path in named_files(names):
        table = read_table(path, text_columns, label_column, labels, **options)
        text_columns = table.text_columns
        if tables and table.has_labels != tables[0].has_labels:
            raise InputError(
                f"either all files have labels or none; {tables[0].path} differs", path
            )
        tables.append(table)
    return tables


def read_table(
    path: Path | str,
    text_columns: Sequence[str] | None = None,
    label_column: str = LABEL_COLUMN,
    labels: Collection[str] | None = None,
    *,
    columns: Mapping[int, Sequence[str]] | None = None,
    needs_labels: bool = True,
    skips_rows: bool = False,
) -> LabelledTable:
    """Reads labelled texts. The first line is a header, which names the columns.

    With `columns`, a file may have no header. Its first line is then a header if one of its cells
    is the name of the label's column, if its cells name the columns of the texts, or if all of them
    are usual names of columns, such as "category" and "text".

    Columns are separated by tabs; quotes are then part of the text. A header without a tab may
    separate its columns by commas, and the file is csv; or the rows are JSON lines, whose keys are
    the columns (see `table_rows`). White space around cells is removed, and blank lines are
    skipped. Other columns are ignored.

    Args:
        path: a UTF-8 file, plain or compressed, or `-` for standard input.
        text_columns: the columns of the texts; None is the first of `TEXT_COLUMNS` that the header
            has.
        label_column: the column of the label.
        labels: the labels that may occur; None allows any.
        columns: {number of columns: their names}, of files without a header.
        needs_labels: whether the column of the label must be there. If not, and it has `NO_LABEL`
            in every row, which is none of `labels`, it is not read.
        skips_rows: whether rows with too few or too many columns, or with an empty label, are left
            out and counted, in place of an error; and of labelled rows, those with an empty text.

    Raises:
        InputError: the file is missing or empty, a column is missing or named twice, a row has too
            few or too many columns, a label is empty, not allowed or has a tab or a line end.
    """
    table = _open_table(path, text_columns, label_column, columns)
    if text_columns is None:
        text_columns = table.usual_text_columns()
    text_places = [table.place(column) for column in text_columns]
    has_labels = needs_labels or label_column in table.header
    label_place = table.place(label_column) if has_labels else None
    lines = list(table.rows)
    if not needs_labels and _has_no_labels(lines, label_place, labels):
        label_place = None
    rows, num_skipped = [], 0
    for number, (line, cells) in enumerate(lines):
        if skips_rows and not table.is_complete(cells, text_places, label_place):
            num_skipped += 1
            continue
        table.check_width(cells, line)
        texts = tuple(cells[place].strip() for place in text_places)
        label = ""
        if label_place is not None:
            label = cells[label_place].strip()
            _check_label(label, label_column, labels, path=table.path, line=line)
        rows.append(LabelledTexts(texts, label, line, number))
    if not rows:
        raise InputError("the file has a header and no rows", table.path)
    return LabelledTable(
        table.path, tuple(text_columns), rows, num_skipped, has_labels=label_place is not None
    )


@dataclass(frozen=True)
class _OpenTable:
    """A table whose columns have names.

    Attributes:
        path: of the file, in messages.
        header: the names of the columns.
        header_line: where they stand; None if each row has them.
        rows: (line, cells) of each row, which are read from the file one by one.
    """

    path: str
    header: list[str]
    header_line: int | None
    rows: Iterator[tuple[int, list[str]]]

    def usual_text_columns(self) -> tuple[str, ...]:
        """The first of `TEXT_COLUMNS` that the header has, or else the last one."""
        complete = (names for names in TEXT_COLUMNS if set(names) <= set(self.header))
        return next(complete, TEXT_COLUMNS[-1])

    def check_width(self, cells: Sequence[str], line: int) -> None:
        """Raises InputError unless a row has all columns."""
        if len(cells) != len(self.header):
            rule = f"expected {len(self.header)} columns, got {len(cells)}"
            raise InputError(rule, self.path, line)

    def place(self, column: str) -> int:
        """The index of a column. Raises InputError if it is missing or named twice."""
        if self.header.count(column) != 1:
            how = "is named twice" if column in self.header else "is missing"
            names = ", ".join(map(shown, self.header))
            raise InputError(
                f"the column {shown(column)} {how}; the header has {names} "
                "(--text_columns and --label_column name columns)",
                self.path,
                self.header_line,
            )
        return self.header.index(column)

    def is_complete(
        self, cells: Sequence[str], text_places: Sequence[int], label_place: int | None
    ) -> bool:
        """Whether a row has all columns, and if there are labels, a label and all texts."""
        if len(cells) != len(self.header):
            return False
        return label_place is None or all(cells[i].strip() for i in (*text_places, label_place))


def _open_table(path, text_columns, label_column, columns) -> _OpenTable:
    """Reads a table, and finds the names of its columns; arguments as in `read_table`."""

    def is_header(cells):
        return columns is None or _is_header(cells, text_columns, label_column)

    name = str(shown_path(path))
    rows = table_rows(iter_lines(path), name, is_header)
    first_line, first_cells = next(rows, (1, [""]))
    header = [cell.strip() for cell in first_cells]
    if columns is not None and first_line and not is_header(header):
        if len(header) not in columns:
            layouts = " or ".join(" TAB ".join(names) for names in columns.values())
            raise InputError(f"expected {layouts}, got {len(header)} columns", name, first_line)
        header = list(columns[len(header)])
        rows = itertools.chain([(first_line, first_cells)], rows)
    return _OpenTable(name, header, first_line or None, rows)


def _has_no_labels(rows, label_place, labels) -> bool:
    """Whether each row has `NO_LABEL` in place of a label, and that is none of `labels`."""
    if label_place is None or NO_LABEL in (labels or ()):
        return False
    return {cells[label_place].strip() for _, cells in rows if cells[label_place:]} == {NO_LABEL}


def _check_label(label, column, labels, *, path, line):
    """Raises InputError if a label is empty, cannot stand in a table, or is none of `labels`."""
    if not label:
        raise InputError(f"the column {shown(column)} is empty", path, line)
    if re.search(r"[\t\r\n]", label):  # tables of predictions cannot hold it
        raise InputError(f"the label {shown(label)} has a tab or a line end", path, line)
    if labels is not None and label not in labels:
        names = ", ".join(map(shown, sorted(labels)))
        raise InputError(f"unknown label {shown(label)}; the labels are {names}", path, line)


def _is_header(cells, text_columns, label_column):
    """Whether the cells of a first line are names of columns."""
    cells = {cell.strip() for cell in cells}
    choices = TEXT_COLUMNS if text_columns is None else (text_columns,)
    is_named = label_column in cells or any(set(names) <= cells for names in choices)
    return is_named or are_usual_names(cells)
