"""Reads minimal pairs: an acceptable sentence and an unacceptable one that differs little."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tta.data.text.files import shown_path
from tta.data.text.json_text import expect, load_json
from tta.data.text.lines import iter_lines
from tta.data.text.tables import are_usual_names, semicolon_hint, table_rows
from tta.errors import InputError, located, shown

# The names of the two sentences in BLiMP's layout.
GOOD, BAD = "sentence_good", "sentence_bad"


@dataclass(frozen=True, slots=True)
class MinimalPair:
    """An acceptable and an unacceptable sentence.

    Attributes:
        good, bad: the sentences, unchanged. One may be empty: real sets have such rows.
        fields: all other fields of the pair, such as `UID` and `linguistics_term` in BLiMP.
        path, line: the place of the pair, for error messages; lines count from 1.
    """

    good: str
    bad: str
    fields: dict[str, Any]
    path: str
    line: int


def read_minimal_pairs(path: Path | str) -> list[MinimalPair]:
    """Reads the pairs of a file, in its order. The layout is detected from the first row.

    - JSON lines, if the first row begins with `{`: one object per line with the strings
      `sentence_good` and `sentence_bad`, and any other fields (BLiMP's layout).
    - Otherwise columns separated by tabs. If the first row has a cell `sentence_good` and a cell
      `sentence_bad`, it is a header that names all columns; commas (csv) may then separate them.
      If not, the file has no header, and its two columns are the good and the bad sentence.

    The two names may be in upper or lower case.

    Blank lines are skipped. The file is plain or compressed, or `-` for standard input. Raises
    InputError if the file is missing, empty or in neither layout, or a sentence is missing or not a
    string. The error names the line.
    """
    lines = list(iter_lines(path))
    name = str(shown_path(path))
    is_json = next(filter(None, map(str.strip, lines)), "").startswith("{")
    rows = list((_json_rows if is_json else _table_rows)(lines, name))
    if not rows:
        raise InputError("the file has no pairs", name)
    return [_parse(row, name, line) for line, row in rows]


def _json_rows(lines, path) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(lines, 1):
        if text.strip():
            with located(path=path):
                pair = expect(load_json(text, line), dict, "a pair", line)
                _check_names([_name(key) for key in pair], path, line)
                yield line, {_name(key): value for key, value in pair.items()}


def _table_rows(lines, path) -> Iterator[tuple[int, dict[str, Any]]]:
    rows = list(table_rows(lines, path, _is_header))
    names = [_name(cell) for cell in rows[0][1]] if rows else []
    if _is_header(names):
        _check_names(names, path, rows[0][0])
        rows = rows[1:]
    elif rows and are_usual_names(names if len(names) > 1 else names[0].split(",")):
        rule = f"expected the columns {GOOD} and {BAD}, got {shown(names)}"
        raise InputError(rule, path, rows[0][0])
    else:
        names = [GOOD, BAD]
    for line, cells in rows:
        if len(cells) != len(names):
            expected = f"{len(names)} columns separated by tabs"
            if line == 1:
                header = f"a header with {GOOD} and {BAD}, between commas or tabs"
                expected = f"JSON objects, {header}, or {expected}"
            rule = f"expected {expected}, got {len(cells)}: " + shown("\t".join(cells))
            raise InputError(rule + semicolon_hint(cells), path, line)
        yield line, dict(zip(names, cells, strict=True))


def _name(cell: str) -> str:
    """The name of a column: of a sentence in lower case, others as they are."""
    name = cell.strip().lower()
    return name if name in (GOOD, BAD) else cell


def _check_names(names: list[str], path: str, line: int) -> None:
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise InputError(f"two columns are named {shown(repeated)}", path, line)


def _is_header(cells):
    return {GOOD, BAD} <= {_name(cell) for cell in cells}


def _parse(row, path, line):
    with located(line=line, path=path):
        good, bad = _sentence(row, GOOD), _sentence(row, BAD)
    columns = {name: value for name, value in row.items() if name not in (GOOD, BAD)}
    return MinimalPair(good, bad, columns, path, line)


def _sentence(row, name):
    if name not in row:
        raise InputError(f'the pair has no "{name}"')
    sentence = expect(row[name], str, f'"{name}"')
    try:
        sentence.encode()
    except UnicodeEncodeError:
        raise InputError(f'"{name}" holds half a surrogate pair: {shown(sentence)}') from None
    return sentence
