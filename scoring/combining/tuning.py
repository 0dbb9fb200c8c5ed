"""Choosing the weights of reranking on lists with references.

One rule holds for any number of lists: the guess is the prior, and lists move the weights away from
it as far as they are evidence. So a few lists change little, and many find their own weights.
"""

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from tta.scoring.combining.columns import FIRST, MODEL, Columns
from tta.scoring.combining.decision import select
from tta.scoring.combining.guess import guess
from tta.scoring.combining.risk import posteriors
from tta.scoring.combining.scored_lists import RANK, ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.weights import GivenWeights, RerankWeights

# The prior is normal. Moving a weight by one unit costs this many errors, halved: of the first pass
# and of the rank, which says the same, and of all others. The first pass is held because its weight
# decides how sharp the probabilities are, and expected errors alone always prefer sharper ones.
_HELD, _FREE = 30.0, 4.0

# The factors that the scale is tried with, and the logarithmic width of their smoothing.
_FACTORS = np.geomspace(1 / 4, 4, 17)
_WIDTH = 0.35


def tune(lists: ScoredLists, statistics: ListStatistics, given: GivenWeights) -> RerankWeights:
    """Chooses the weights that are not given, on lists with references.

    The weights minimize the expected errors, where the probability of each hypothesis is the
    softmax of its scaled combined score, plus the cost of their distance from the guess
    (`guess.guess`). They are found by L-BFGS from the guess; nothing is random. For the decision
    `mbr`, the scale is then moved to the lowest error of the picks, smoothed and with the same
    cost. Weights that are given stay as they are. The reduction is the sum if it is not given.
    Errors are those of `Metric.errors`, each about as bad as a wrong word.
    """
    start = guess(lists, given)
    if given.scale == 0:  # all hypotheses are equally probable: the weights do not matter
        return start
    finite = guess(lists, replace(given, decision="mbr", scale=None))
    columns = Columns.build(lists, start if start.decision == "mbr" else finite, given)
    errors = np.where(lists.present, statistics.errors, 0.0)
    point = _fit(lists.present, columns, errors)
    if start.decision == "mbr":
        if given.scale is None:
            point = point * _best_factor(lists, columns, errors, point)
        else:
            point = point * given.scale / columns.weights(point, "mbr").scale
    return columns.weights(point, start.decision)


def _fit(present, columns, errors):
    """The point [F] with the fewest expected errors of the hypotheses, [L, N], near the guess."""
    prior = columns.point(columns.start)
    cost = np.where(np.isin(columns.names, [FIRST, RANK]), _HELD, _FREE)
    values = columns.values

    def loss(point):
        probable = posteriors(present, values @ point)
        expected = (probable * errors).sum(axis=1, keepdims=True)
        away = point - prior
        slope = np.einsum("ln,lnf->f", probable * (errors - expected), values)
        return expected.sum() + cost @ away**2 / 2, slope + cost * away

    # The first pass keeps a weight, because those of features are relative to it; and a later rank
    # is not better.
    lowest = {FIRST: 1e-3, MODEL: 0.0, RANK: 0.0}
    bounds = [(lowest.get(name), None) for name in columns.names]
    return minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=bounds).x


def _best_factor(lists, columns, errors, point):
    """The factor on the scale with the fewest errors of the picks, smoothed; near 1 if equal."""
    rows = np.arange(len(errors))
    counts = [
        errors[rows, select(lists, columns.weights(point * factor, "mbr"))].sum()
        for factor in _FACTORS
    ]
    logs = np.log(_FACTORS)
    kernel = np.exp(-0.5 * ((logs[:, None] - logs) / _WIDTH) ** 2)
    smooth = kernel @ counts / kernel.sum(axis=1)
    return _FACTORS[np.argmin((smooth + _FREE / 2 * logs**2).round(9))]
