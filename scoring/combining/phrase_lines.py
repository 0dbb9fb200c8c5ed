"""Reads phrases and their factors, as a file of phrases has them: one per line."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tta.data.nbest.lists import parse_number
from tta.errors import InputError, located, shown

MAX_FACTOR = 100.0

# How other tools write a factor behind a phrase: `PHRASE :2.0`, `PHRASE:2`, `PHRASE,2`. A number
# behind a digit, as in "john 3:16", belongs to the phrase.
_OTHER_FACTOR = re.compile(r"(?P<phrase>.*[^\s\d:;,=^|])\s*[:;,=^|]\s*(?P<factor>\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True)
class PhraseLine:
    """A line of a file of phrases.

    Attributes:
        line: the line, as it is written.
        text: its phrase.
        factor: of its weight, 0 to `MAX_FACTOR`; None if there is none.
        number: the number of the line, from 1; None if the file is a JSON array.
    """

    line: str
    text: str
    factor: float | None
    number: int | None


def parse_phrases(lines: Iterable[str], path: Any = None) -> list[PhraseLine]:
    """Reads lines `phrase` or `phrase<tab>factor`, or a JSON array of phrases. Blank lines drop.

    Args:
        lines: the lines.
        path: of the file that they are from, for errors.

    Raises:
        InputError: a factor is no number or out of its range, a factor is written as in another
            tool, or the file is JSON of another form. It names the line.
    """
    lines = list(lines)
    listed = _parse_json(lines, path)
    if listed is not None:
        return [PhraseLine(text, text, None, None) for text in listed if text.strip()]
    parsed = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            with located(path=path, line=number):
                text, factor = _parse_line(line)
            parsed.append(PhraseLine(line, text, factor, number))
    return parsed


def _parse_line(line: str) -> tuple[str, float | None]:
    """The phrase of a line and its factor."""
    text, tab, cell = line.partition("\t")
    if not tab:
        if written := _OTHER_FACTOR.fullmatch(line):
            phrase, number = written["phrase"].strip(), written["factor"]
            raise InputError(
                f"{shown(line)} looks like a phrase and its factor: write {phrase}<tab>{number}, "
                f"or {line.strip()}<tab>1 if the number belongs to the phrase"
            )
        return text, None
    factor = parse_number(cell, "factor of the phrase")
    if not 0 <= factor <= MAX_FACTOR:
        rule = f"the factor of a phrase must be between 0 and {MAX_FACTOR:g}"
        raise InputError(f"{rule}, not {factor:g}")
    return text, factor


def _parse_json(lines: Sequence[str], path: Any) -> list[str] | None:
    """The phrases of a JSON array; None if the lines are not JSON."""
    first = next((line.strip() for line in lines if line.strip()), "")
    if not first.startswith(("[", "{", '"')):
        return None
    try:
        value = json.loads("\n".join(lines))
    except ValueError:
        return _refuse_json_line(lines, first, path)
    if isinstance(value, list) and all(isinstance(text, str) for text in value):
        return value
    raise InputError("expected lines of phrases, or a JSON array of strings, got other JSON", path)


def _refuse_json_line(lines: Sequence[str], first: str, path: Any) -> None:
    """Raises InputError if the first of several lines is JSON by itself."""
    try:
        value = json.loads(first)
    except ValueError:
        return
    if isinstance(value, dict | list | str):
        number = 1 + next(i for i, line in enumerate(lines) if line.strip())
        rule = "expected a phrase per line, without quotes, got a line of JSON"
        raise InputError(f"{rule}: {shown(first)}", path, number)
