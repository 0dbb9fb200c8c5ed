"""Choosing the shares of several language models in one mixture.

Models differ in the scale of their scores (an n-gram model scores words, a T-TA word pieces). The
search is therefore not over shares but over *parts*: how much each model's scores vary within a
list, compared with the whole mixture. A model's part is its share times its spread.
"""

import functools
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.tuning import error_of, guess, spread, survey
from tta.scoring.combining.weights import FIRST_PASS, GivenWeights, RerankWeights, only

# The ratios to try: one model's part divided by the sum of the other parts.
RATIOS = (0.0, *(2.0**power for power in range(-4, 5)))

_SWEEPS = 3  # over all models; the search nearly always ends earlier


def tune_mixture(
    lists: ScoredLists,
    statistics: ListStatistics,
    singles: Sequence[RerankWeights],
    given: GivenWeights,
) -> RerankWeights:
    """Chooses the models' shares, and the weights that are not given, on lists with references.

    Mixtures are compared by their lowest smoothed error on the grid of `tuning.tune`. The search
    starts at the best single model and changes one model's part at a time (coordinate descent over
    `RATIOS`) until nothing improves. A point counts only if it is not worse than any of `singles`
    and, unless the bonus is given, better than the first pass. So with free weights, the result is
    never worse on these lists than `singles` or the first pass.

    `singles` are the weights to compare with, usually those of each single model, at least one. The
    best of them is returned if no mixture is as good. The shares in `given` are ignored.
    """
    errors = [error_of(lists, statistics, single) for single in singles]
    first_pass = error_of(lists, statistics, FIRST_PASS)
    found = {}

    def lowest(parts, reduction):
        """The lowest allowed point of a mixture: (smoothed error, weights), or None."""
        key = (reduction, *np.round(parts, 9))
        if key not in found:
            shares = _shares(lists, parts, reduction)
            surface = survey(lists, statistics, replace(given, reduction=reduction, shares=shares))
            allowed = surface.error <= min(errors)
            if given.length_bonus is None:
                allowed &= surface.error < first_pass
            found[key] = surface.lowest(allowed)
        return found[key]

    count = len(lists.models)
    points = [_descend(count, functools.partial(lowest, reduction=r)) for r in given.reductions]
    best = min(filter(None, points), key=lambda point: point[0], default=None)
    return singles[int(np.argmin(errors))] if best is None else best[1]


def guess_mixture(lists: ScoredLists, given: GivenWeights) -> RerankWeights:
    """Chooses weights without references, as `tuning.guess`: all K models get equal parts.

    The shares in `given` are ignored.
    """
    count = len(lists.models)
    reduction = given.reduction or guess(lists, GivenWeights(shares=only(0, count))).reduction
    shares = _shares(lists, np.full(count, 1 / count), reduction)
    return guess(lists, replace(given, reduction=reduction, shares=shares))


def _descend(count, lowest):
    """Coordinate descent over the models' parts [K]: the lowest point, or None."""

    def smooth(parts):
        point = lowest(parts)
        return np.inf if point is None else point[0]

    parts = min(np.eye(count), key=smooth)
    for _ in range(_SWEEPS):
        before = parts
        for k in range(count):
            rest = np.where(np.arange(count) == k, 0.0, parts)
            if rest.any():  # otherwise model k is the only one, and its part does not matter
                rest /= rest.sum()
                steps = [(rest + ratio * np.eye(count)[k]) / (1 + ratio) for ratio in RATIOS]
                parts = min([parts, *steps], key=smooth)
        if parts is before:
            break
    return lowest(parts)


def _shares(lists: ScoredLists, parts: np.ndarray, reduction: str) -> tuple[float, ...]:
    """Turns parts of the mixture's variation [K] into shares, K float with sum 1."""
    spreads = np.array([spread(lists, model.reduced[reduction]) for model in lists.models])
    shares = parts / np.where(spreads > 0, spreads, 1.0)
    return tuple((shares / shares.sum()).tolist())
