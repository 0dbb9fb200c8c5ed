"""JSON: strict parsing with lines for error messages, writing, and hypotheses as JSON."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TextIO

from tta.data.nbest.fields import (
    HYPOTHESES,
    PARTS,
    TRANSCRIPTS,
    named,
    read_scores,
    score_key,
)
from tta.data.nbest.lists import Hypothesis, ListCollector
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
        found = list(re.finditer(re.escape(quoted(key)) + r"\s*:", text))
        line = first_line + text.count("\n", 0, found[1].start()) if len(found) == 2 else None
        raise InputError(f"duplicate key {shown(key)}", line=line) from None
    except json.JSONDecodeError as error:
        rule = f"malformed JSON: {error.msg}, column {error.colno}"
        raise InputError(rule, line=first_line + error.lineno - 1) from None
    except RecursionError:
        raise InputError("malformed JSON: nested too deeply", line=first_line) from None
    except ValueError as error:  # an integer of thousands of digits
        raise InputError(f"malformed JSON: {error}", line=first_line) from None


def iter_json(text: str) -> Iterator[tuple[Any, int, bool]]:
    """Parses JSON values one after another: lines of JSON, one document, or documents in a row.

    Yields:
        A value, the line on which it starts, and whether it takes several lines.

    Raises:
        InputError: as `load_json`.
    """
    end, line = _BLANK.match(text).end(), 1
    line += text.count("\n", 0, end)
    while end < len(text):
        start = end
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (_DuplicateKeyError, ValueError, RecursionError):
            following = text.find("\n{", start + 1)
            load_json(text[start : following if following > 0 else None], line)  # raises
            load_json(text[start:], line)
            raise AssertionError("the same text was malformed before") from None
        lines = text.count("\n", start, end)
        yield value, line, bool(lines)
        after = _BLANK.match(text, end).end()
        line += lines + text.count("\n", end, after)
        end = after


def quoted(key: str) -> str:
    """A key as it is in JSON text."""
    return json.dumps(key, ensure_ascii=False)


def dump_json(value: Any, stream: TextIO, indent: int | None = None) -> None:
    """Writes JSON and a line end."""
    try:
        text = json.dumps(value, ensure_ascii=False, indent=indent)
        if re.search("[\ud800-\udfff]", text):  # half a surrogate pair in an `extra`
            text = json.dumps(value, indent=indent)
    except RecursionError:  # in an `extra`
        raise InputError("nested too deeply to be written as JSON") from None
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


def iter_records(text: str) -> Iterator[tuple[Any, int, Place]]:
    """Parses records: JSON values one after another (see `iter_json`), or arrays of them.

    Yields:
        A record, the line on which its document starts, and its place.
    """
    for number, (document, line, is_indented) in enumerate(iter_json(text)):
        is_array = isinstance(document, list)
        for index, record in enumerate(document if is_array else [document]):
            yield record, line, Place(number, index if is_array else None, is_indented)


def dump_records(records: Iterable[tuple[Any, Place]], stream: TextIO) -> None:
    """The inverse of `iter_records`. Records of one array must be adjacent."""
    for (_, is_array, is_indented), group in itertools.groupby(
        records, lambda row: (row[1].document, row[1].index is not None, row[1].is_indented)
    ):
        made = [record for record, _ in group]
        for document in [made] if is_array else made:
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


def parse_hypothesis(value: Any, format_name: str, collector: ListCollector) -> Hypothesis:
    """Reads `{"text": ..., "score": ...}`; the score is found by `read_scores`."""
    value = expect(value, dict, "a hypothesis")
    key = text_key(value)
    if key is None:
        raise InputError(f'a hypothesis has no "text": {shown(value)}')
    if isinstance(value.get("text"), str) and value["text"] != value[key]:
        raise InputError(
            f'"text" may be the hypothesis, or the reference of "{key}": keep one of them'
        )
    score, features = read_scores(value, collector)
    return Hypothesis(value[key], score, {format_name: value}, features)


def hypothesis_object(hypothesis: Hypothesis, extra: dict[str, Any]) -> dict[str, Any]:
    """The inverse of `parse_hypothesis`; `extra` is the object that was read, or {}."""
    item = dict(extra)
    if hypothesis.score is not None:
        item[score_key(extra)] = float(hypothesis.score)
    return item | {text_key(extra) or "text": hypothesis.text}


def text_key(fields: dict[str, Any]) -> str | None:
    """The field with the text of a hypothesis; None if there is none."""
    texts = [name for name, value in fields.items() if isinstance(value, str)]
    names = (*HYPOTHESES, *TRANSCRIPTS)
    return named(texts, names) or named(fields, names)


def is_text(value: Any) -> bool:
    """Whether a hypothesis is a text, or an array of tokens, which have no blanks."""
    tokens = value if isinstance(value, list) else [value]
    may_have_blanks = len(tokens) == 1
    return all(isinstance(t, str) and (may_have_blanks or not re.search(r"\s", t)) for t in tokens)


def as_object(value: Any) -> Any:
    """Turns a text, an array of tokens, `[text, score]` or a beam of pyctcdecode into an object.

    Other values are returned as they are.
    """
    if is_text(value):
        return {"text": value if isinstance(value, str) else " ".join(value)}
    if isinstance(value, list) and len(value) in _ENTRIES and isinstance(value[0], str):
        return dict(zip(_ENTRIES[len(value)], value, strict=True))
    return value


def as_value(item: dict[str, Any], value: Any) -> Any:
    """The inverse of `as_object` for `value`, which was read. A text with a score is an object."""
    if isinstance(value, list) and not is_text(value):
        return [item.get(name) for name in _ENTRIES[len(value)]]
    return value if item == as_object(value) else item


def columns(item: dict[str, Any], count: int) -> dict[str, list[Any]]:
    """The arrays of an object with `count` entries, one for each hypothesis."""
    return {k: v for k, v in item.items() if isinstance(v, list) and len(v) == count}


def check_arrays(item: dict[str, Any], names: Sequence[str], count: int) -> list[str]:
    """Checks that the arrays called `names` and `PARTS` have one number for each hypothesis.

    Returns:
        The names of those that the object has.
    """
    found = [key for key in (*names, *PARTS) if isinstance(item.get(key), list)]
    for key in found:
        if len(item[key]) != count:
            got = f"{len(item[key])} for {count}"
            raise InputError(f'expected one number in "{key}" per hypothesis, got {got}')
    return found


# The fields of a hypothesis that is an array, by its length: a pair, or a beam of pyctcdecode.
_ENTRIES = {
    2: ("text", "score"),
    5: ("text", "last_lm_state", "text_frames", "logit_score", "lm_score"),
}
