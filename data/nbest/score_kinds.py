"""What the scores of a file are, and their conversion to natural logs, higher is better."""

import math
import sys
from dataclasses import replace

from tta.data.nbest.lists import NBestList
from tta.errors import InputError


def in_memory(nbest: NBestList, format_kind: str, kind: str | None) -> NBestList:
    """Converts the scores that a format read to those of `kind`; see `tta.choices.SCORE_KINDS`.

    `format_kind` is the kind that the format took them for; None keeps it. The log of a probability
    of 0 is that of the smallest positive number.

    Raises:
        InputError: a probability is not between 0 and 1.
    """
    if kind is None or kind == format_kind:
        return nbest
    return _converted(nbest, lambda score: _log(score if format_kind != "cost" else -score, kind))


def in_file(nbest: NBestList, format_kind: str, kind: str | None) -> NBestList:
    """Converts scores in memory to those that a format is to write as `kind`; see `in_memory`.

    Scores of the kind "probability" stay natural logs, because new scores are no probabilities.
    """
    if kind is None or (kind == "cost") == (format_kind == "cost"):
        return nbest
    return _converted(nbest, lambda score: 0.0 - score)


def _converted(nbest, convert):
    return replace(
        nbest,
        hypotheses=tuple(
            h if h.score is None else replace(h, score=convert(h.score)) for h in nbest.hypotheses
        ),
    )


def _log(score, kind):
    if kind == "cost":
        return 0.0 - score  # not -0.0 for a cost of 0
    if kind == "log_probability":
        return score
    if not 0 <= score <= 1:
        raise InputError(f"expected a probability between 0 and 1 as score, got {score}")
    return math.log(max(score, sys.float_info.min))
