"""Reads pairs of sentences with a gold similarity: STS-B, SICK and csv files."""

import contextlib
import csv
import math
from dataclasses import dataclass
from pathlib import Path

from tta.data.text.files import shown_path
from tta.data.text.lines import iter_lines
from tta.errors import InputError

# The names of the columns (first sentence, second sentence, gold score) in files with a header.
_HEADERS = (
    ("sentence_A", "sentence1"),
    ("sentence_B", "sentence2"),
    ("relatedness_score", "score"),
)
_LAYOUTS = (
    "STS-B's tab-separated genre, file, year, index, score, sentence, sentence; a tab- or "
    "comma-separated file with a header (sentence_A, sentence_B, relatedness_score, or sentence1, "
    "sentence2, score); csv: sentence, sentence, score"
)


@dataclass(frozen=True)
class SentencePair:
    """Two sentences and their similarity as judged by people.

    `gold` is on the scale of the file (STS-B 0 to 5, SICK 1 to 5); higher is more similar.
    """

    first: str
    second: str
    gold: float


def read_sts(path: Path | str) -> list[SentencePair]:
    """Reads the pairs of a file, in its order. The layout is detected from the content.

    Layouts: STS-B's original (tab-separated, no header: genre, file, year, index, score, sentence,
    sentence, and up to two source columns); SICK and others with a header that names the columns;
    csv without a header (sentence, sentence, score). The file is plain or compressed, or `-` for
    standard input.

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
        columns, allowed = (5, 6, 4), (7, 8, 9)  # STS-B
    elif len(header) == 3:
        columns, allowed = (0, 1, 2), (3,)
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
    try:
        return [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        raise InputError(f"malformed csv: {error}", shown_path(path), reader.line_num) from None


def _columns_by_name(header):
    """The indices of the first sentence, the second and the gold score; None without a header."""
    places = {name.strip(): i for i, name in enumerate(header)}
    columns = tuple(
        next((places[name] for name in names if name in places), None) for names in _HEADERS
    )
    return None if None in columns else columns


def _parse(row, columns, allowed, path, line):
    if len(row) not in allowed:
        expected = " or ".join(map(str, allowed))
        raise InputError(f"expected {expected} columns, got {len(row)}", path, line)
    first, second, gold = (row[column].strip() for column in columns)
    if not first or not second:
        raise InputError("expected two sentences, got an empty one", path, line)
    score = math.nan
    with contextlib.suppress(ValueError):
        score = float(gold)
    if not math.isfinite(score):
        raise InputError(f"expected a finite number as score, got {gold[:60]!r}", path, line)
    return SentencePair(first, second, score)
