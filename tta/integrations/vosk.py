"""Vosk: results of a recogniser after `SetMaxAlternatives(10)`."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tta.errors import InputError
from tta.integrations import NBest, collect


def nbest(results: Iterable[str | Mapping[str, Any]]) -> NBest:
    """The lists of results: what `Result()` or `FinalResult()` returns, JSON or an object of it.

    Vosk's confidence of an alternative is a log-likelihood; it is the score.

    Raises:
        InputError: a result has no alternatives.
    """
    lists = []
    for number, result in enumerate(results, 1):
        found = json.loads(result) if isinstance(result, str) else result
        if "alternatives" not in found:
            raise InputError(
                f"result {number} has no alternatives: call SetMaxAlternatives(10) first"
            )
        lists.append([(one["text"], one["confidence"]) for one in found["alternatives"]])
    return collect(lists)
