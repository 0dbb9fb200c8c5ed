"""JSON in N-best files: strict parsing, checks of types, lines for error messages."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from tta.data.nbest.fields import read_scores, score_key
from tta.data.nbest.formats.base import Source
from tta.data.nbest.lists import Hypothesis, ListCollector, shown
from tta.errors import InputError


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
        found = list(re.finditer(re.escape(_quoted(key)) + r"\s*:", text))
        line = first_line + text.count("\n", 0, found[1].start()) if len(found) == 2 else None
        raise InputError(f"duplicate key {shown(key)}", line=line) from None
    except json.JSONDecodeError as error:
        rule = f"malformed JSON: {error.msg}, column {error.colno}"
        raise InputError(rule, line=first_line + error.lineno - 1) from None
    except RecursionError:
        raise InputError("malformed JSON: nested too deeply", line=first_line) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"malformed JSON: {error}", line=first_line) from None


def dump_json(value: Any, stream: TextIO, indent: int | None = None) -> None:
    """Writes JSON and a line end."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
        if re.search("[\ud800-\udfff]", text):  # half a surrogate pair in an `extra`
            text = json.dumps(value, indent=indent)
    except RecursionError:  # in an `extra`
        raise InputError("nested too deeply to be written as JSON") from None
    stream.write(text + "\n")


def expect(value: Any, kind: type, what: str, line: int | None = None) -> Any:
    """Returns the value if it is of that kind (dict, list or str), else raises `InputError`."""
    if not isinstance(value, kind):
        names = {dict: "an object", list: "an array", str: "a string"}
        raise InputError(f"expected {what} as {names[kind]}, got {shown(value)}", line=line)
    return value


def parse_hypothesis(
    value: Any, format_name: str, collector: ListCollector, names: Sequence[str] = ("score",)
) -> Hypothesis:
    """Reads `{"text": ..., "score": ...}`; the score is found by `read_scores`."""
    value = expect(value, dict, "a hypothesis")
    if "text" not in value:
        raise InputError(f'a hypothesis has no "text": {shown(value)}')
    score, features = read_scores(value, collector, names)
    return Hypothesis(value["text"], score, {format_name: value}, features)


def hypothesis_object(
    hypothesis: Hypothesis, extra: dict[str, Any], names: Sequence[str] = ("score",)
) -> dict[str, Any]:
    """The inverse of `parse_hypothesis`; `extra` is the object that was read, or {}."""
    key = score_key(extra, names)
    score = {} if hypothesis.score is None else {key: float(hypothesis.score)}
    rest = {name: value for name, value in extra.items() if name not in (key, "text")}
    return {**score, "text": hypothesis.text, **rest}


def first_key(item: dict[str, Any], names: Sequence[str]) -> str:
    """The first of the names that is a key of the item; the first name if none is."""
    return next((name for name in names if name in item), names[0])


def columns(item: dict[str, Any], count: int, without: Sequence[str]) -> dict[str, list[Any]]:
    """The arrays of an object with `count` entries, one for each hypothesis."""
    return {
        key: value
        for key, value in item.items()
        if key not in without and isinstance(value, list) and len(value) == count
    }


def line_of_object(source: Source, key: str) -> Callable[[], int | None]:
    """A function that finds the line on which the object under a key starts."""
    return line_of_match(source, re.escape(_quoted(key)) + r"\s*:\s*\{", 0)


def line_of_match(source: Source, pattern: str, index: int) -> Callable[[], int | None]:
    """A function that finds the line of match `index` of a pattern, or None without a match."""

    def find():
        match = next(itertools.islice(re.finditer(pattern, source.text), index, None), None)
        return match and source.text.count("\n", 0, match.start()) + 1

    return find


class _DuplicateKeyError(Exception):
    """An object has a key twice. The argument is the key."""


def _unique_keys(pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _DuplicateKeyError(next(key for key, count in counts.items() if count > 1))
    return result


def _quoted(key):
    return json.dumps(key, ensure_ascii=False)
