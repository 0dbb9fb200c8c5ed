"""Test lists that are also dev lists: the weights were tuned on them, so they flatter the gain."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tta.data.nbest.lists import Hypothesis
from tta.errors import InputError
from tta.scoring.combining.part import Part
from tta.scoring.combining.problem import Problem
from tta.scoring.notes import Note, NoteKind


def lists_among_dev(problem: Problem) -> np.ndarray:
    """Which test lists are also dev lists, with the same texts and scores: [L] bool.

    Lists of fewer than two hypotheses are not: nothing is tuned on them.
    """
    dev, test = problem.dev, problem.test
    if dev is None or dev is test:
        return np.zeros(len(test.nbest), bool)
    dev_lists = {lst for lst in _as_sets(dev) if len(lst) > 1}
    return np.array([lst in dev_lists for lst in _as_sets(test)], bool)


def _as_sets(part: Part) -> list[frozenset[Hypothesis]]:
    """The lists without their order: equal ones have the same texts and scores."""
    return [frozenset(nbest_list.hypotheses) for nbest_list in part.nbest]


def without_references(part: Part, rows: np.ndarray) -> Part:
    """The part without the references of some lists, which are then not measured.

    Args:
        part: L lists.
        rows: [L] bool, the lists that lose their references.

    Raises:
        InputError: no list with a reference is left.
    """
    nbest = [
        replace(nbest_list, reference=None, more_references=()) if is_left_out else nbest_list
        for nbest_list, is_left_out in zip(part.nbest, rows, strict=True)
    ]
    hidden = replace(part, lists=replace(part.lists, nbest=nbest))
    if part.has_references and not hidden.has_references:
        raise InputError("leave_out_dev leaves no list to measure: all are dev lists", part.path)
    return hidden


def overlap_notes(problem: Problem, among_dev: np.ndarray, left_out: bool) -> Iterator[Note]:
    """Yields a note on test lists that are also dev lists, if there are some.

    Args:
        problem: the lists.
        among_dev: [L] bool; see `lists_among_dev`.
        left_out: whether they are left out of the measurement.
    """
    count, dev = int(among_dev.sum()), problem.dev
    if not count or dev is None:
        return
    which = f"test lists that are also dev lists: {count:,} of {len(among_dev):,}"
    if set(_as_sets(dev)) == set(_as_sets(problem.test)):
        which = "the dev lists equal the test lists"
    consequence = "the gain is overestimated, because the weights were tuned on them"
    if left_out:
        consequence = "they are reranked, but not measured"
    yield Note(NoteKind.LISTS, f"{which}: {consequence}")
