"""A hypothesis as JSON: an object, a text, an array of tokens, a pair or a beam of pyctcdecode."""

import re
from collections.abc import Sequence
from typing import Any

from tta.data.nbest.fields import (
    HYPOTHESES,
    PARTS,
    TRANSCRIPTS,
    named,
    read_scores,
    score_key,
)
from tta.data.nbest.lists import Hypothesis, ListCollector
from tta.data.text.json_text import expect
from tta.errors import InputError, shown

# The fields of a hypothesis that is an array, by its length: a pair, or a beam of pyctcdecode.
_ENTRIES = {
    2: ("text", "score"),
    5: ("text", "last_lm_state", "text_frames", "logit_score", "lm_score"),
}


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


def check_arrays(
    item: dict[str, Any], names: Sequence[str], count: int, are_texts: bool = True
) -> list[str]:
    """Checks that the arrays called `names` and `PARTS` have one number for each hypothesis.

    Their plurals are only those of hypotheses that `are_texts`.

    Returns:
        The names of those that the object has.
    """
    plurals = [f"{name}s" for name in PARTS] if are_texts else []
    found = [key for key in (*names, *PARTS, *plurals) if isinstance(item.get(key), list)]
    for key in found:
        if len(item[key]) != count:
            got = f"{len(item[key])} for {count}"
            raise InputError(f'expected one number in "{key}" per hypothesis, got {got}')
    return found
