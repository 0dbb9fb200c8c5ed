"""Lays out lists as arrays, and compares their hypotheses with references and with each other."""

from collections.abc import Iterator

from tta.errors import InputError, shown
from tta.notes import Note, NoteKind
from tta.scoring.combining.part import Part
from tta.scoring.combining.problem import Problem
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.risk import needs_losses
from tta.scoring.reranking.reading import RerankInput


def lay_out(lists: RerankInput, rank_scores: bool = True) -> Problem:
    """The lists as arrays. With `rank_scores`, lists without first-pass scores get -ln(rank).

    Raises InputError if weights cannot be tuned on the dev lists for the test lists, or padded
    lists do not fit into memory.
    """
    parts = tuple(Part.build(part.file.lists, part.path, rank_scores) for part in lists.parts)
    problem = Problem(parts, lists.is_tuned)
    if problem.dev is not None:
        _check_dev(problem.dev, problem.test)
    return problem


def _check_dev(dev: Part, test: Part) -> None:
    if not dev.has_references:
        raise InputError("tuning needs references, and the lists have none", dev.path)
    if (dev.has_scores, dev.lists.ranked) != (test.has_scores, test.lists.ranked):
        raise InputError(
            "either both dev and test lists must have first-pass scores or none of them: "
            "weights tuned on one kind do not fit the other",
            dev.path,
        )


def compare(
    problem: Problem, metric: Metric, *, measured: bool = True, decision: str | None = None
) -> Problem:
    """Compares hypotheses as a metric does.

    Args:
        problem: the lists.
        metric: says how texts are compared.
        measured: whether they are compared with references, where there are some.
        decision: they are compared with each other for `mbr`; or for None, if all pairs of all
            lists fit into memory.

    Raises:
        InputError: the metric is not defined on the references, or pairs that `mbr` needs do not
            fit into memory.
    """
    losses = needs_losses(decision, *(part.nbest for part in problem.parts))
    return problem.map(lambda part: part.compared(metric, measured, losses))


def list_notes(problem: Problem) -> Iterator[Note]:
    """Yields notes on lists that are both dev and test lists, and on empty ones."""
    dev, test = problem.dev, problem.test
    if dev is not None and dev is not test:
        yield from _overlap_notes(dev, test)
    for part in problem.parts:
        empty = [nbest.utterance_id for nbest in part.nbest if not nbest.hypotheses]
        if empty:
            yield Note(
                NoteKind.LISTS,
                f"lists without hypotheses in {part.name}: {len(empty):,}, first "
                f"{shown(empty[0])}; they stay empty, and are measured as an empty hypothesis",
                is_warning=False,
            )


def _overlap_notes(dev: Part, test: Part) -> Iterator[Note]:
    dev_lists = {frozenset(nbest.hypotheses) for nbest in dev.nbest}
    test_lists = {frozenset(nbest.hypotheses) for nbest in test.nbest}
    count = sum(len(hypotheses) > 1 for hypotheses in dev_lists & test_lists)
    which = f"test lists that are also dev lists: {count:,} of {len(test_lists):,}"
    if dev_lists == test_lists:
        which = "the dev lists equal the test lists"
    if count:
        why = "the gain is overestimated, because the weights were tuned on them"
        yield Note(NoteKind.LISTS, f"{which}: {why}")
