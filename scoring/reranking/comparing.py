"""Lays out lists as arrays, and compares their hypotheses with references and with each other."""

from collections.abc import Collection, Iterator

import numpy as np

from tta.errors import InputError, shown
from tta.scoring.combining.list_features import LIST_FEATURES
from tta.scoring.combining.part import Part
from tta.scoring.combining.problem import Problem
from tta.scoring.combining.scored_lists import RANK
from tta.scoring.combining.tuning import center
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.fitting.columns import Column
from tta.scoring.fitting.misfits import FIRST_PASS_COLUMN, Columns, misfits
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.risk import needs_losses
from tta.scoring.notes import Note, NoteKind
from tta.scoring.reranking.reading import RerankInput

# The correlation within lists above which a column is a copy of another one, and how many
# differences of hypotheses show it.
_COPY, _LEAST_SHOWN = 0.9999, 10


def lay_out(lists: RerankInput, rank_scores: bool = True) -> Problem:
    """The lists as arrays. With `rank_scores`, lists without first-pass scores get -ln(rank).

    Raises InputError if the dev lists have no references, or padded lists do not fit into memory.
    """
    parts = tuple(Part.build(part.file.lists, part.path, rank_scores) for part in lists.parts)
    problem = Problem(parts, lists.is_tuned)
    if problem.dev is not None and not problem.dev.has_references:
        raise InputError("tuning needs references, and the lists have none", problem.dev.path)
    return problem


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


def copied_features(problem: Problem) -> dict[str, str]:
    """The features of the lists that say what another column says: {name: what it copies}.

    A copy is a multiple of the other column, plus a constant of each list. It is no new knowledge,
    but tuning would take it for some. Few hypotheses show no copy: two columns of a list of two
    hypotheses are always multiples.
    """
    lists = problem.chosen_on.lists
    names = sorted(problem.features - {RANK, *LIST_FEATURES})
    num_differences = int(np.maximum(lists.present.sum(axis=1) - 1, 0).sum())
    if not names or num_differences < _LEAST_SHOWN:
        return {}

    def direction(scores: np.ndarray) -> np.ndarray:
        centered = center(lists.present, scores).ravel()
        return centered / max(float(np.linalg.norm(centered)), 1e-300)

    columns = {
        "the first pass": direction(lists.first_pass),
        "the number of words": direction(lists.num_words),
        "the rank": direction(lists.feature(RANK)),
    }
    copies: dict[str, str] = {}
    for name in names:
        column = direction(lists.feature(name))
        originals = [other for other, unit in columns.items() if abs(column @ unit) > _COPY]
        if originals:
            copies[name] = originals[0]
        else:
            columns[f"the feature {name}"] = column
    return copies


def columns_tuned_on(
    problem: Problem, features: Collection[str], weights: RerankWeights | None
) -> Columns | None:
    """What is typical of the scores of the dev lists, or of those that `weights` were tuned on.

    None if neither is known.
    """
    if problem.dev is not None:
        return _describe(problem.dev, features)
    return None if weights is None else weights.tuned_on


def fit_notes(
    problem: Problem, features: Collection[str], tuned_on: Columns | None
) -> Iterator[Note]:
    """Yields what speaks against reranking with weights that were tuned on such columns.

    Raises InputError if the scores of the lists are others.
    """
    if tuned_on is None or problem.dev is problem.test:
        return
    for misfit in misfits(tuned_on, _describe(problem.test, features)):
        if misfit.is_error:
            raise InputError(misfit.text, problem.test.path)
        yield Note(NoteKind.LISTS, misfit.text, problem.test.path)


def _describe(part: Part, features: Collection[str]) -> dict[str, Column]:
    """Describes the first pass, if the lists have scores, and those features that are theirs."""
    lists = part.lists
    names = sorted(set(features) - {RANK, *LIST_FEATURES})
    columns = {name: lists.feature(name) for name in names}
    if part.has_scores and not lists.ranked:
        columns[FIRST_PASS_COLUMN] = lists.first_pass
    return {
        name: Column.describe(scores, lists.num_words, lists.present)
        for name, scores in columns.items()
    }


def list_notes(problem: Problem) -> Iterator[Note]:
    """Yields notes on empty lists."""
    for part in problem.parts:
        empty = [nbest.utterance_id for nbest in part.nbest if not nbest.hypotheses]
        if empty:
            yield Note(
                NoteKind.LISTS,
                f"lists without hypotheses in {part.name}: {len(empty):,}, first "
                f"{shown(empty[0])}; they stay empty, and are measured as an empty hypothesis",
                is_warning=False,
            )
