"""Vosk: results of a recogniser after `SetMaxAlternatives(10)`."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tta.errors import InputError
from tta.integrations import NBest, collect


def nbest(results: Iterable[str | Mapping[str, Any]]) -> NBest:
    """The lists of results: what `Result()` or `FinalResult()` returns, JSON or an object of it.

    Vosk's confidence of an alternative is a log-likelihood; it is the score. Raises InputError if a
    result is empty, is no JSON, is partial or has no alternatives.
    """
    lists = []
    for number, result in enumerate(results, 1):
        try:
            found: Any = json.loads(result) if isinstance(result, str) else result
            lists.append([(one["text"], float(one["confidence"])) for one in found["alternatives"]])
        except (KeyError, TypeError, ValueError):
            rule = "call SetMaxAlternatives(10) first, and pass Result() or FinalResult()"
            raise InputError(f"result {number} has no alternatives: {rule}") from None
    return collect(lists)
