"""What formats of JSON share: hypotheses as objects, arrays beside them, lines for errors."""

import itertools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from tta.data.nbest.fields import (
    HYPOTHESES,
    PARTS,
    SCORES,
    TRANSCRIPTS,
    id_of,
    named,
    read_scores,
    score_key,
)
from tta.data.nbest.formats.base import Source
from tta.data.nbest.formats.json_values import expect
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


def as_object(value: Any) -> Any:
    """A hypothesis as an object, if it is a text, an array of tokens, or of a text and a score.

    pyctcdecode's beams have more: `[text, state, frames, logit_score, lm_score]`.
    """
    if isinstance(value, str):
        return {"text": value}
    if not isinstance(value, list) or not value:
        return value
    if all(isinstance(one, str) for one in value):
        return {"text": " ".join(value)}
    names = _BEAM if len(value) == len(_BEAM) else ("text", "score")
    if len(value) == len(names) and isinstance(value[0], str):
        return dict(zip(names, value, strict=True))
    return value


def as_value(item: dict[str, Any], value: Any) -> Any:
    """The inverse of `as_object`; `value` is what was read. An object may have a new score."""
    if isinstance(value, list) and isinstance(value[-1], (int, float)):
        names = _BEAM if len(value) == len(_BEAM) else ("text", "score")
        return [item.get(name) for name in names]
    old = as_object(value)
    return value if item == old else item["text"] if item.keys() == {"text"} else item


def list_id(item: dict[str, Any], name: int | str, collector: ListCollector) -> Any:
    """The id of a list; `name` if it has none. Further lists of a recording get their index."""
    found, is_recording = id_of(item, name)
    return f"{found}-{collector.count}" if is_recording and collector.has(found) else found


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


def check_arrays(item: dict[str, Any], names: Sequence[str], count: int) -> None:
    """Checks that arrays of scores (`names` and `PARTS`) have one number for each hypothesis."""
    for key in (*names, *PARTS):
        if isinstance(item.get(key), list) and len(item[key]) != count:
            got = f"{len(item[key])} for {count}"
            raise InputError(f'expected one number in "{key}" per hypothesis, got {got}')


def line_of_object(source: Source, key: str) -> Callable[[], int | None]:
    """A function that finds the line on which the object under a key starts."""
    return line_of_match(source, re.escape(_quoted(key)) + r"\s*:\s*\{", 0)


def line_of_match(source: Source, pattern: str, index: int) -> Callable[[], int | None]:
    """A function that finds the line of match `index` of a pattern, or None without a match."""

    def find():
        match = next(itertools.islice(re.finditer(pattern, source.text), index, None), None)
        return match and source.text.count("\n", 0, match.start()) + 1

    return find


# The fields of a beam of pyctcdecode.
_BEAM = ("text", "last_lm_state", "text_frames", "logit_score", "lm_score")


def _quoted(key):
    return json.dumps(key, ensure_ascii=False)
