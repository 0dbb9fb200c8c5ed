"""Choosing the weights of reranking on lists with references."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tta.scoring.combining.columns import Columns
from tta.scoring.combining.decision import select
from tta.scoring.combining.guess import guess
from tta.scoring.combining.line_search import Lines
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.search import search
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.weights import FIRST_PASS, GivenWeights, RerankWeights

FOLDS = 5


def tune(
    lists: ScoredLists,
    statistics: ListStatistics,
    given: GivenWeights,
    starts: Sequence[RerankWeights] = (),
) -> RerankWeights:
    """Chooses the weights that are not given, on lists with references.

    Each decision and each reduction has its own search (`search.search`); the one with the lowest
    smooth error wins. A gain must also hold on other lists: each fifth of the lists is reranked
    with weights chosen without it. If the gain of these picks over the first pass is within one
    standard error, weights without a model are tuned in the same way. If their gain is, too, the
    order of the first pass is kept. Weights that are given and may change this
    order skip the check. With a scale of 0 the weights do not matter, and are not searched for.
    `starts` are weights to start from, besides those of the search.
    """
    if given.scale == 0:
        return guess(lists, given)
    groups = np.arange(len(lists.nbest)) % min(FOLDS, len(lists.nbest))
    has_models = bool(given.mixtures(len(lists.models)))
    reductions = given.reductions if has_models else given.reductions[:1]
    if not (lists.has_scores or has_models):
        reductions = ()  # there is nothing to search for
    tables = [Columns.build(lists, given, reduction) for reduction in reductions]
    found = []
    for decision in given.decisions(lists.losses is not None):
        for columns in tables:
            scale = given.scale if decision == "mbr" else None
            lines = Lines(lists, statistics, columns, groups, decision, scale)
            points = [columns.point(w, 1.0) for w in starts if w.reduction == columns.reduction]
            found.append((search(lines, points), lines))
    count = len(lists.models)
    shares = (1 / max(count, 1),) * count if given.shares is None else given.shares
    keep = replace(FIRST_PASS, reduction=given.reductions[0], shares=shares)
    if not found:
        return keep if given.allows_first_pass else guess(lists, given)
    best, lines = min(found, key=lambda one: one[0].error)
    if given.allows_first_pass:
        first_pass = statistics.of(select(lists, FIRST_PASS))
        if not _gains(statistics, first_pass, _held_out(lines, best.held_out)):
            if not has_models:
                return keep
            without = tune(lists, statistics, replace(given, shares=()))
            return replace(without, reduction=keep.reduction, shares=shares)
    return lines.columns.weights(best.point, lines.decision)


def _held_out(lines, points):
    """The statistics of each list's pick at the point of its group: [G, F] -> [L, S] int64."""
    picks = np.zeros([len(lines.groups)], int)
    for group, point in enumerate(points):
        weights = lines.columns.weights(point, lines.decision)
        chosen = lines.groups == group
        picks[chosen] = select(lines.lists, weights)[chosen]
    return lines.statistics.of(picks)


def _gains(statistics, before, after):
    """Whether the error falls by more than the standard error of the fall: [L, S] statistics each.

    The standard error is the jackknife's, which leaves out one list at a time. It holds for any
    metric. With a single list there is none, and any fall counts.
    """
    totals = np.stack([before.sum(axis=0), after.sum(axis=0)])
    gain = -np.diff(statistics.error(totals))[0]
    if len(before) < 2:
        return bool(gain > 0)
    with np.errstate(invalid="ignore"):  # without some list, the metric may not be defined
        without = -np.diff(statistics.error(totals - np.stack([before, after], axis=1)))[:, 0]
    without = without[np.isfinite(without)]
    return bool(gain > np.sqrt(max(len(without) - 1, 0) * without.var()))
