"""Reads pairs of sentences with a gold similarity: STS-B, SICK and csv files."""

import csv
import math
from dataclasses import dataclass

from tta.data.text.files import iter_lines, shown_path
from tta.errors import InputError

_FIRST = ("sentence_A", "sentence1")
_SECOND = ("sentence_B", "sentence2")
_GOLD = ("relatedness_score", "score")
_STSB_COLUMNS = {"first": 5, "second": 6, "gold": 4}
_LAYOUTS = (
    "STS-B's tab-separated genre, file, year, index, score, sentence, sentence; a tab- or "
    "comma-separated file with a header (sentence_A, sentence_B, relatedness_score, or sentence1, "
    "sentence2, score); csv: sentence, sentence, score"
)


@dataclass(frozen=True)
class SentencePair:
    """Two sentences and how similar people found them.

    Attributes:
        first: a sentence.
        second: a sentence.
        gold: the similarity, higher is more similar, in the file's unit (STS-B 0 to 5, SICK 1
            to 5).
    """

    first: str
    second: str
    gold: float


def read_sts(path):
    """Reads a file of sentence pairs; its layout is told by its content.

    Layouts: STS-B's original (tab-separated, no header: genre, file, year, index, score, sentence,
    sentence, and up to two source columns); SICK and others with a header that names the columns;
    csv without a header (sentence, sentence, score).

    Args:
        path: the file, `-` for standard input, plain or compressed.

    Returns:
        A list of `SentencePair`, in the file's order.

    Raises:
        InputError: the file is missing, empty or in no known layout, a row has too few or too many
            columns, a score is not a finite number, or a sentence is empty.
    """
    rows = _read_rows(path)
    path = shown_path(path)
    if not rows:
        raise InputError("the file is empty", path)
    header = rows[0][1]
    columns = _columns_by_name(header)
    if columns:
        rows, allowed = rows[1:], (len(header),)
    elif len(header) >= 7:
        columns, allowed = _STSB_COLUMNS, (7, 8, 9)
    elif len(header) == 3:
        columns, allowed = {"first": 0, "second": 1, "gold": 2}, (3,)
    else:
        raise InputError(f"expected {_LAYOUTS}; got {len(header)} columns", path, rows[0][0])
    if not rows:
        raise InputError("the file has a header and no pairs", path)
    return [_parse(row, columns, allowed, path, line) for line, row in rows]


def _read_rows(path):
    """[(line number, fields)] of the rows that are not blank."""
    lines = list(iter_lines(path))
    if "\t" in lines[0]:
        # Quotes in STS-B and SICK are part of the sentences.
        return [(n, line.split("\t")) for n, line in enumerate(lines, 1) if line.strip()]
    reader = csv.reader((line + "\n" for line in lines), strict=True)
    rows = []
    try:
        for row in reader:
            if row:
                rows.append((reader.line_num, row))
    except csv.Error as error:
        raise InputError(f"malformed csv: {error}", shown_path(path), reader.line_num) from None
    return rows


def _columns_by_name(header):
    names = {name.strip(): i for i, name in enumerate(header)}
    columns = {
        role: next((names[name] for name in known if name in names), None)
        for role, known in (("first", _FIRST), ("second", _SECOND), ("gold", _GOLD))
    }
    return None if None in columns.values() else columns


def _parse(row, columns, allowed, path, line):
    if len(row) not in allowed:
        expected = " or ".join(str(count) for count in allowed)
        raise InputError(f"expected {expected} columns, got {len(row)}", path, line)
    first, second, gold = (row[columns[role]].strip() for role in ("first", "second", "gold"))
    if not first or not second:
        raise InputError("expected two sentences, got an empty one", path, line)
    try:
        score = float(gold)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise InputError(f"expected a finite number as score, got {gold[:60]!r}", path, line)
    return SentencePair(first, second, score)
