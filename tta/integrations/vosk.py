"""Vosk: results of a recogniser after `SetMaxAlternatives(10)`."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tta.errors import InputError
from tta.integrations import NBest, collect


def nbest(results: Iterable[str | Mapping[str, Any]]) -> NBest:
    """The lists of results: what `Result()` or `FinalResult()` returns, JSON or an object of it.

    Vosk's confidence of an alternative is a log-likelihood, mostly positive. The score is this
    confidence minus the highest of its list, because only differences within a list count. Raises
    InputError if a result is empty, is no JSON, is partial or has no alternatives.
    """
    lists = []
    for number, result in enumerate(results, 1):
        try:
            parsed: Any = json.loads(result) if isinstance(result, str) else result
            scored = [
                (alternative["text"], float(alternative["confidence"]))
                for alternative in parsed["alternatives"]
            ]
        except (KeyError, TypeError, ValueError):
            rule = "call SetMaxAlternatives(10) first, and pass Result() or FinalResult()"
            raise InputError(f"result {number} has no alternatives: {rule}") from None
        highest = max((confidence for _, confidence in scored), default=0.0)
        lists.append([(text, confidence - highest) for text, confidence in scored])
    return collect(lists)
