"""Converts lists from what a file holds to what is used in memory, and back.

Scores become natural logs, higher is better. Texts in the spelling of a tokenizer become words.
"""

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from tta.data.nbest.lists import Hypothesis, NBestList, distinct_references
from tta.data.text.spelling import plain_texts
from tta.errors import InputError

Item = TypeVar("Item", Hypothesis, NBestList)


def in_memory(nbest: NBestList, format_kind: str, kind: str | None) -> NBestList:
    """Converts scores that were read as `format_kind` but are of `kind` to natural logs.

    Both are one of `tta.choices.SCORE_KINDS`; if `kind` is None, the format was right. A
    probability of 0 counts as the smallest positive number. Raises InputError if a probability is
    not between 0 and 1.
    """
    if kind is None or kind == format_kind:
        return nbest
    return _converted(nbest, lambda score: _log(score if format_kind != "cost" else -score, kind))


def in_file(nbest: NBestList, format_kind: str, kind: str | None) -> NBestList:
    """The inverse of `in_memory`, for the scores that a format is about to write.

    For the kind "probability" natural logs are written: new scores are not probabilities.
    """
    if kind is None or (kind == "cost") == (format_kind == "cost"):
        return nbest
    return _converted(nbest, lambda score: 0.0 - score)


def plain_lists(
    lists: Sequence[NBestList], keep_non_words: bool = False
) -> tuple[list[NBestList], list[str]]:
    """Reads hypotheses and references as words, with `plain_texts`; `as_read` undoes it.

    Returns:
        The lists, and notes on what changed.
    """
    texts = [h for nbest in lists for h in nbest.hypotheses]
    hypotheses, notes = _plain(texts, "text", keep_non_words)
    unread = iter(hypotheses)
    read = [
        replace(nbest, hypotheses=tuple(itertools.islice(unread, len(nbest.hypotheses))))
        for nbest in (lists if notes else ())
    ]
    read, reference_notes = _plain(read or lists, "reference", keep_non_words)
    read = [
        _with_plain_references(nbest, keep_non_words) if nbest.more_references else nbest
        for nbest in read
    ]
    return read, notes + [f"references: {note}" for note in reference_notes]


def _with_plain_references(nbest: NBestList, keep_non_words: bool) -> NBestList:
    """Reads the further references of a list as words. They differ from the first one."""
    texts, _ = plain_texts(nbest.more_references, keep_non_words)
    distinct = distinct_references([nbest.reference or "", *texts])
    further = tuple(text for text in distinct if text != nbest.reference)
    return replace(nbest, more_references=further)


def as_read(nbest: NBestList) -> NBestList:
    """A list in the spelling of its file. Texts that changed after `plain_lists` stay."""
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


def _plain(items: Sequence[Item], name: str, keep_non_words: bool) -> tuple[list[Item], list[str]]:
    """Reads the attribute `name` of each item as words, and keeps its old spelling in `extra`."""
    before = [getattr(item, name) or "" for item in items]
    texts, notes = plain_texts(before, keep_non_words)
    if texts == before:
        return list(items), notes
    read = [
        item
        if text == old
        else replace(item, **{name: text}, extra={**(item.extra or {}), "spelling": (text, old)})
        for item, text, old in zip(items, texts, before, strict=True)
    ]
    return read, notes


def _original(item: Item, name: str) -> Item:
    text, old = (item.extra or {}).get("spelling", (None, None))
    is_same = text is not None and getattr(item, name) == text
    return replace(item, **{name: old}) if is_same else item
