"""What formats of JSON share: hypotheses as objects, arrays beside them, lines for errors."""

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

from tta.data.nbest.fields import (
    HYPOTHESES,
    PARTS,
    SCORES,
    TRANSCRIPTS,
    named,
    read_scores,
    score_key,
)
from tta.data.nbest.formats.base import Source
from tta.data.nbest.formats.json_values import expect, quoted
from tta.data.nbest.lists import Hypothesis, ListCollector, shown
from tta.errors import InputError


def parse_hypothesis(
    value: Any, format_name: str, collector: ListCollector, names: Sequence[str] = SCORES
) -> Hypothesis:
    """Reads `{"text": ..., "score": ...}`; the score is found by `read_scores`."""
    value = expect(value, dict, "a hypothesis")
    key = text_key(value)
    if key is None:
        raise InputError(f'a hypothesis has no "text": {shown(value)}')
    if isinstance(value.get("text"), str) and value["text"] != value[key]:
        raise InputError(
            f'"text" may be the hypothesis, or the reference of "{key}": keep one of them'
        )
    score, features = read_scores(value, collector, names)
    return Hypothesis(value[key], score, {format_name: value}, features)


def hypothesis_object(
    hypothesis: Hypothesis, extra: dict[str, Any], names: Sequence[str] = SCORES
) -> dict[str, Any]:
    """The inverse of `parse_hypothesis`; `extra` is the object that was read, or {}."""
    item = dict(extra)
    if hypothesis.score is not None:
        item[score_key(extra, names)] = float(hypothesis.score)
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


def line_of_object(source: Source, key: str) -> Callable[[], int | None]:
    """A function that finds the line on which the object under a key starts."""
    return line_of_match(source, re.escape(quoted(key)) + r"\s*:\s*\{", 0)


def line_of_match(source: Source, pattern: str, index: int) -> Callable[[], int | None]:
    """A function that finds the line of match `index` of a pattern, or None without a match."""

    def find():
        match = next(itertools.islice(re.finditer(pattern, source.text), index, None), None)
        return match and source.text.count("\n", 0, match.start()) + 1

    return find


# The fields of a hypothesis that is an array, by its length: a pair, or a beam of pyctcdecode.
_ENTRIES = {
    2: ("text", "score"),
    5: ("text", "last_lm_state", "text_frames", "logit_score", "lm_score"),
}
