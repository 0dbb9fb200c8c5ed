"""From what a file holds to what is in memory, and back.

Scores become natural logs, higher is better; texts that a tokenizer spelled become words.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from tta.data.nbest.lists import Hypothesis, NBestList
from tta.data.text.spelling import plain_texts
from tta.errors import InputError

Item = TypeVar("Item", Hypothesis, NBestList)


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


def plain_lists(lists: Sequence[NBestList]) -> tuple[list[NBestList], list[str]]:
    """`plain_texts` of hypotheses and of references; `as_read` undoes it.

    Returns:
        The lists, and the notes on them.
    """
    texts = [h.text for one in lists for h in one.hypotheses]
    references = [one.reference or "" for one in lists]
    (plain, notes), (plain_references, more) = plain_texts(texts), plain_texts(references)
    notes += [f"references: {note}" for note in more]
    found = iter(plain)
    read = [
        replace(
            _respelled(one, "reference", text) if text != (one.reference or "") else one,
            hypotheses=tuple(_respelled(h, "text", next(found)) for h in one.hypotheses),
        )
        for one, text in zip(lists, plain_references, strict=True)
    ]
    return read, notes


def as_read(nbest: NBestList) -> NBestList:
    """A list in the spelling of its file, for all texts that are still those of `plain_lists`."""
    hypotheses = tuple(_original(h, "text") for h in nbest.hypotheses)
    return replace(_original(nbest, "reference"), hypotheses=hypotheses)


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


def _respelled(item: Item, name: str, text: str) -> Item:
    old = getattr(item, name)
    if text == old:
        return item
    return replace(item, **{name: text}, extra={**(item.extra or {}), "spelling": (text, old)})


def _original(item: Item, name: str) -> Item:
    text, old = (item.extra or {}).get("spelling", (None, None))
    is_ours = text is not None and getattr(item, name) == text
    return replace(item, **{name: old}) if is_ours else item
