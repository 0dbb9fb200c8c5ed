"""References in tables: one column of texts, two columns of ids and texts, or a header."""

from collections.abc import Iterator

from tta.data.nbest.fields import IDS, RECORDINGS, named
from tta.data.nbest.references.json_objects import TEXTS
from tta.data.nbest.references.reading import (
    IdColumn,
    IdKind,
    Reading,
    Reference,
    Rows,
    named_columns,
    refused,
)
from tta.data.text.tables import split_row
from tta.errors import InputError

_DELIMITERS = {"\t": "tabs", ",": "commas", "|": "|"}


def table_readings(rows: Rows, list_count: int) -> Iterator[Reading]:
    """Yields how rows can be read as those of a table; nothing if they are none.

    Rows keep tabs at their ends. A column alone, with a header, has `list_count` rows after it.
    """
    if len(rows) == list_count + 1 and named([rows[0][1].strip().strip('"')], TEXTS):
        yield _single_column(rows[1:])
    for delimiter, name in _DELIMITERS.items():
        cells = [_split(row, delimiter) for _, row in rows]
        widths = {len(of_row) for of_row in cells}
        if len(widths) == 1 and (width := widths.pop()) > 1:
            lines = [line for line, _ in rows]
            yield from _of_cells(lines, cells)
            rule = (
                f"a table of {width} columns, separated by {name}: expected a header with the "
                "columns id and reference, or the two columns id and reference"
            )
            yield refused(rule, [_place(column) for column in zip(*cells, strict=True)])
            if delimiter == "\t" and len(rows) > 1:
                yield refused(rule)


def _single_column(rows):
    """The texts of one column. Cells are in quotes if a text has commas, or no cell is."""
    cells = [_split(row, ",") for _, row in rows]
    if any(len(of_row) != 1 for of_row in cells):
        cells = [[row.strip()] for _, row in rows]
    return Reading([Reference(text, line) for (line, _), (text,) in zip(rows, cells, strict=True)])


def _of_cells(lines, cells):
    """Yields the readings of rows of equally many cells: with a header, then of two columns."""
    header, *body = cells
    if named(header, TEXTS):
        rows = [dict(zip(header, of_row, strict=True)) for of_row in body]
        names = [named(row, TEXTS) or "" for row in rows]
        texts = [row[name].strip() for row, name in zip(rows, names, strict=True)]
        references = [Reference(*pair) for pair in zip(texts, lines[1:], strict=True)]
        columns = named_columns(rows, names)
        if columns or named(header, (*IDS, *RECORDINGS)):
            yield Reading(references, columns)
    if len(header) == 2:
        for text_column, id_column in ((1, 0), (0, 1)):
            references = [
                Reference(of_row[text_column], line)
                for line, of_row in zip(lines, cells, strict=True)
            ]
            yield Reading(references, [_place([of_row[id_column] for of_row in cells])])


def _place(ids):
    return IdColumn(IdKind.PLACE, [(utterance_id,) for utterance_id in ids])


def _split(row, delimiter):
    try:
        cells = split_row(row, delimiter)
    except InputError:
        return [row]
    return [cell.strip() for cell in cells]
