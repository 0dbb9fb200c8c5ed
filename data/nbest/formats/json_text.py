"""What formats of JSON share: hypotheses as objects, arrays beside them, lines for errors."""

import itertools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from tta.data.nbest.fields import PARTS, read_scores, score_key
from tta.data.nbest.formats.base import Source
from tta.data.nbest.formats.json_values import expect
from tta.data.nbest.lists import Hypothesis, ListCollector, shown
from tta.errors import InputError


def parse_hypothesis(
    value: Any, format_name: str, collector: ListCollector, names: Sequence[str] = ("score",)
) -> Hypothesis:
    """Reads `{"text": ..., "score": ...}`; the score is found by `read_scores`."""
    value = expect(value, dict, "a hypothesis")
    if "text" not in value:
        raise InputError(f'a hypothesis has no "text": {shown(value)}')
    for key in ("hypothesis", "hyp", "pred_text"):
        if isinstance(value.get(key), str) and value[key] != value["text"]:
            raise InputError(
                f'"text" may be the hypothesis, or the reference of "{key}": keep one of them'
            )
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


def _quoted(key):
    return json.dumps(key, ensure_ascii=False)
