"""Strict JSON: errors name lines, and no key occurs twice. Records of JSON, and writing."""

import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TextIO

from tta.errors import InputError, shown


def load_json(text: str, first_line: int = 1) -> Any:
    """Parses JSON that starts on line `first_line` of a file, and rejects duplicate keys.

    Raises:
        InputError: malformed JSON (the error names the line), a duplicate key, or too deep nesting.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique_keys)
    except _DuplicateKeyError as error:
        (key,) = error.args
        # If the key occurs exactly twice, the second one is the duplicate.
        matches = list(re.finditer(re.escape(quoted(key)) + r"\s*:", text))
        line = first_line + text.count("\n", 0, matches[1].start()) if len(matches) == 2 else None
        raise InputError(f"duplicate key {shown(key)}", line=line) from None
    except json.JSONDecodeError as error:
        rule = f"malformed JSON: {error.msg}, column {error.colno}"
        raise InputError(rule, line=first_line + error.lineno - 1) from None
    except RecursionError:
        raise InputError("malformed JSON: nested too deeply", line=first_line) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"malformed JSON: {error}", line=first_line) from None


class JsonDocument(NamedTuple):
    """A JSON value of a text.

    Attributes:
        line: the line on which it starts.
        is_indented: whether it takes several lines.
    """

    value: Any
    line: int
    is_indented: bool


class JsonDocuments:
    """The JSON values of a text: lines of JSON, one document, or documents in a row.

    Each is parsed when it is first asked for, and kept. Iterating raises InputError at a malformed
    one, as `load_json` does.
    """

    def __init__(self, text: str):
        self._text = text
        self._parsed: list[JsonDocument] = []
        self._end, self._line = 0, 1  # of what was parsed, and of the blanks after it
        self._skip_blanks()

    def __iter__(self) -> Iterator[JsonDocument]:
        for index in itertools.count():
            if index == len(self._parsed):
                if self._end == len(self._text):
                    return
                self._parse_next()
            yield self._parsed[index]

    def _parse_next(self):
        text, start = self._text, self._end
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (_DuplicateKeyError, ValueError, RecursionError):
            following = text.find("\n{", start + 1) if text[start] == "{" else -1
            load_json(text[start : following if following > 0 else None], self._line)  # raises
            load_json(text[start:], self._line)
            raise AssertionError("the same text was malformed before") from None
        line_ends = text.count("\n", start, end)
        self._parsed.append(JsonDocument(value, self._line, bool(line_ends)))
        self._end, self._line = end, self._line + line_ends
        self._skip_blanks()

    def _skip_blanks(self):
        end = _BLANK.match(self._text, self._end).end()
        self._line += self._text.count("\n", self._end, end)
        self._end = end


def quoted(key: str) -> str:
    """A key as it is in JSON text."""
    return json.dumps(key, ensure_ascii=False)


def dump_json(value: Any, stream: TextIO, indent: int | None = None) -> None:
    """Writes JSON and a line end, also of values as deep as those that `load_json` just reads."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(2 * limit)
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
        if re.search("[\ud800-\udfff]", text):  # half a surrogate pair in an `extra`
            text = json.dumps(value, indent=indent)
    except RecursionError:  # in an `extra`
        raise InputError("nested too deeply to be written as JSON") from None
    finally:
        sys.setrecursionlimit(limit)
    stream.write(text + "\n")


class Place(NamedTuple):
    """Where a record is in a file.

    Attributes:
        document: the number of the JSON document, from 0.
        index: the number of the record in the array that is the document; None if the record is
            the document.
        is_indented: whether the document takes several lines.
    """

    document: int | str
    index: int | None
    is_indented: bool


def iter_records(documents: Iterable[JsonDocument]) -> Iterator[tuple[Any, int, Place]]:
    """Yields the records of JSON documents: their values, or those of arrays.

    Yields:
        A record, the line on which its document starts, and its place.
    """
    for number, (value, line, is_indented) in enumerate(documents):
        is_array = isinstance(value, list)
        for index, record in enumerate(value if is_array else [value]):
            yield record, line, Place(number, index if is_array else None, is_indented)


def dump_records(records: Iterable[tuple[Any, Place]], stream: TextIO) -> None:
    """The inverse of `iter_records`. Records of one array must be adjacent."""
    for (_, is_array, is_indented), group in itertools.groupby(
        records, lambda row: (row[1].document, row[1].index is not None, row[1].is_indented)
    ):
        values = [record for record, _ in group]
        for document in [values] if is_array else values:
            dump_json(document, stream, 1 if is_indented else None)


def expect(value: Any, kind: type, what: str, line: int | None = None) -> Any:
    """Returns the value if it is of that kind (dict, list or str), else raises `InputError`."""
    if not isinstance(value, kind):
        names = {dict: "an object", list: "an array", str: "a string"}
        raise InputError(f"expected {what} as {names[kind]}, got {shown(value)}", line=line)
    return value


class _DuplicateKeyError(Exception):
    """An object has a key twice. The argument is the key."""


def _unique_keys(pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _DuplicateKeyError(next(key for key, count in counts.items() if count > 1))
    return result


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)
_BLANK: Any = re.compile(r"[ \t\n\r]*")  # which always matches
