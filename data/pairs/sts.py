"""Reads pairs of sentences, with or without a gold similarity: STS-B, SICK, csv, JSON lines."""

import contextlib
import math
from dataclasses import dataclass
from pathlib import Path

from tta.data.text.files import shown_path
from tta.data.text.lines import ParquetReader, iter_lines
from tta.data.text.parquet import is_parquet
from tta.data.text.tables import are_usual_names, semicolon_hint, table_rows
from tta.errors import InputError, located

# The names of the columns in files with a header, in lower case.
FIRST = ("sentence_a", "sentence1")
SECOND = ("sentence_b", "sentence2")
GOLD = ("relatedness_score", "score", "similarity_score", "label")
_LAYOUTS = (
    "sentence, sentence and perhaps a score; or a header that names sentence1, sentence2 and "
    f"perhaps {' or '.join(GOLD)}; or STS-B's seven columns"
)


@dataclass(frozen=True)
class SentencePair:
    """Two sentences and their similarity as judged by people.

    `gold` is on the scale of the file (STS-B 0 to 5, SICK 1 to 5); higher is more similar. It is
    None if the file has no gold scores. A sentence may be empty: real sets have such rows.
    """

    first: str
    second: str
    gold: float | None


def read_sts(path: Path | str) -> list[SentencePair]:
    """Reads the pairs of a file, in its order. The layout is detected from the content.

    Columns are separated by tabs or, if the first line has no tab, by commas (csv). Layouts:

    - With a header, or as JSON lines: the columns named in `FIRST`, `SECOND` and `GOLD`, in upper
      or lower case.
    - Without: sentence, sentence, score.
    - STS-B's original: genre, file, year, index, score, sentence, sentence, and up to two sources.

    In the first two, the column of the score may be missing in the whole file. The file is plain or
    compressed, or `-` for standard input. Raises InputError if the file is missing, empty or in no
    known layout, a row has too few or too many columns, or a score is not a finite number.
    """
    lines = iter_lines(path)
    path = shown_path(path)
    rows = list(table_rows(lines, path))
    if not rows:
        raise InputError("the file is empty", path)
    header = rows[0][1]
    with located(line=rows[0][0] or None, path=path):
        columns = _columns_by_name(header)
    if columns:
        for column in columns[:2] if is_parquet(str(path)) else ():
            for _ in ParquetReader([str(path)], header[column]):
                pass  # it checks them: null would be empty
        rows, allowed = rows[1:], (len(header),)
    elif not rows[0][0]:
        raise InputError(f"expected {_LAYOUTS}; got the keys {', '.join(header)}", path)
    elif len(header) >= 7:
        columns, allowed = (5, 6, 4), (7, 8, 9)  # STS-B
    elif are_usual_names(header):
        raise InputError(f"expected {_LAYOUTS}; got {', '.join(header)}", path, rows[0][0])
    elif len(header) in (2, 3):
        columns, allowed = (0, 1, 2)[: len(header)], (len(header),)
    else:
        rule = f"expected {_LAYOUTS}; got {len(header)} columns{semicolon_hint(header)}"
        raise InputError(rule, path, rows[0][0])
    if not rows:
        raise InputError("the file has a header and no pairs", path)
    return [_parse(row, columns, allowed, path, line) for line, row in rows]


def _columns_by_name(header):
    """The indices of the first sentence, the second and the gold score, if there is one.

    None without a header.
    """
    names = [name.strip().lower() for name in header]
    for name in {*FIRST, *SECOND, *GOLD}:
        if names.count(name) > 1:
            raise InputError(f"two columns are called {name}")
    places = {name: i for i, name in enumerate(names)}
    first, second, gold = (
        [places[name] for name in names if name in places][:1] for names in (FIRST, SECOND, GOLD)
    )
    return (*first, *second, *gold) if first and second else None


def _parse(row, columns, allowed, path, line):
    if len(row) not in allowed:
        expected = " or ".join(map(str, allowed))
        raise InputError(f"expected {expected} columns, got {len(row)}", path, line)
    first, second, *gold = (row[column].strip() for column in columns)
    if not gold:
        return SentencePair(first, second, None)
    score = math.nan
    with contextlib.suppress(ValueError):
        score = float(gold[0])
    if not math.isfinite(score):
        rule = f"expected a finite number as score, got {gold[0][:60]!r}"
        raise InputError(f"{rule} (the layout: {_LAYOUTS})" if line == 1 else rule, path, line)
    return SentencePair(first, second, score)
