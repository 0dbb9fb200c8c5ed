"""Choosing the weights of reranking: on lists with references, or from the scores' scale alone."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter

from tta.scoring.combining.scored_lists import (
    FIRST_PASS,
    REDUCTIONS,
    RerankWeights,
    add_bonus,
    interpolate,
    select,
    total,
)

# The two scores may differ in scale by orders of magnitude, either way. So the grid is even in the
# logarithm of w / (1 - w), the language model's share: ten steps a decade from 1/1000 to 1000.
_SHARES = np.geomspace(1e-3, 1e3, 61)
LM_WEIGHTS = np.array([0.0, *(_SHARES / (1 + _SHARES)), 1.0])

# A bonus has the scale of the scores too: in units of what a word costs on average, where 1 would
# pay for every word in full.
BONUSES = np.linspace(-0.5, 2.0, 41)

# Grid steps over which the dev error is smoothed before its minimum is taken.
_SMOOTHING = 2.0

# Without a dev list: how widely the language model's scores spread within a list, relative to the
# first pass's, and the bonus for each reduction.
_GUESSED_SPREAD = 0.25
_GUESSED_BONUS = {"sum": 0.5, "mean": 0.25}


def tune(lists, statistics, metric, lm_weight=None, length_bonus=None, reduction=None):
    """Chooses, on lists with references, whichever of the three weights is None.

    All of a grid is tried. The single best point of a jagged error surface is partly luck, so the
    choice is the point that does best together with its surroundings (Gaussian smoothing, two grid
    steps wide) among those that beat the first pass; that is a plateau's inside too, and between
    equals the smaller lm_weight. Tuned on a part of real ASR lists (with an n-gram model), this did
    better on the rest than the bare minimum. Where no point beats the first pass there is no reason
    to change anything, and its order is kept. So with lm_weight and length_bonus free, the chosen
    weights are never worse on these lists than the first pass.

    Args:
        lists: `ScoredLists`. Without first-pass scores lm_weight is 1, or 0 to keep the order.
        statistics: [L, N, K] int64, see `count_statistics`.
        metric: `WordErrorRate` or `Bleu`.
        lm_weight, length_bonus, reduction: a value to keep, or None.

    Returns:
        `RerankWeights`.
    """
    surface = survey(lists, statistics, metric, lm_weight, length_bonus, reduction)
    if lm_weight is not None or length_bonus is not None:
        return surface.lowest().weights
    first_pass = error_of(lists, statistics, metric, FIRST_PASS)
    best = surface.lowest(surface.error < first_pass)
    if best is None:
        return replace(FIRST_PASS, reduction=surface.points.flat[0].reduction)
    return best.weights


@dataclass(frozen=True)
class Surface:
    """The error at every point of a grid of weights: R reductions, W lm_weights, B bonuses.

    Attributes:
        points: [R, W, B] `RerankWeights`.
        error: [R, W, B] float64, the metric's value; BLEU with its sign changed: lower is better.
        smooth: [R, W, B] float64, the error of a point together with its surroundings.
    """

    points: np.ndarray
    error: np.ndarray
    smooth: np.ndarray

    def lowest(self, allowed=None):
        """The `Point` of the lowest smoothed error.

        Args:
            allowed: [R, W, B] bool, the points to choose from; None is all of them.

        Returns:
            A `Point`, the first of equals; None where no point is allowed.
        """
        smooth = self.smooth if allowed is None else np.where(allowed, self.smooth, np.inf)
        index = np.unravel_index(smooth.argmin(), smooth.shape)
        if np.isinf(smooth[index]):
            return None
        return Point(self.points[index], float(smooth[index]))


@dataclass(frozen=True)
class Point:
    """A point of a `Surface`: its weights and its smoothed error."""

    weights: RerankWeights
    smooth: float


def survey(lists, statistics, metric, lm_weight=None, length_bonus=None, reduction=None):
    """Measures the grid that `tune` chooses from, with the same arguments: a `Surface`."""
    reductions = REDUCTIONS if reduction is None else (reduction,)
    lm_weights = LM_WEIGHTS if lists.has_scores else [1.0]
    if lm_weight is not None:
        lm_weights = [lm_weight]
    units = BONUSES if length_bonus is None else [None]

    points = np.empty([len(reductions), len(lm_weights), len(units)], object)
    totals = np.empty([*points.shape, statistics.shape[-1]], np.int64)
    for r, reduction_ in enumerate(reductions):
        for i, weight in enumerate(lm_weights):
            scores = interpolate(lists, weight, reduction_)
            cost = cost_of_a_word(lists, scores)
            for j, unit in enumerate(units):
                bonus = length_bonus if unit is None else float(unit * cost)
                points[r, i, j] = RerankWeights(float(weight), bonus, reduction_)
                selection = add_bonus(lists, scores, bonus).argmax(axis=1)
                totals[r, i, j] = total(statistics, selection)

    error = _error(metric, totals)
    smooth = np.stack([gaussian_filter(plane, _SMOOTHING, mode="nearest") for plane in error])
    return Surface(points, error, smooth.round(9))  # so that rounding errors break no ties


def error_of(lists, statistics, metric, weights):
    """The metric's value of the picks under `weights`, as a `Surface` has it: lower is better."""
    return _error(metric, total(statistics, select(lists, weights)))


def guess(lists, lm_weight=None, length_bonus=None, reduction=None):
    """Fills in whichever of the three weights is None without references, from the scores' scale.

    The lm_weight lets the language model's scores vary within a list a quarter as widely as the
    first pass's (1 where there are no first-pass scores); the bonus pays half of what a word costs
    on average with the sum of token scores, a quarter with the mean. The reduction is the sum, or
    the mean where no first-pass score holds the sum back from the shortest hypothesis. A start that
    helped on the ASR lists at hand; tuned weights are better.

    Args:
        lists: `ScoredLists`.
        lm_weight, length_bonus, reduction: a value to keep, or None.

    Returns:
        `RerankWeights`.
    """
    if lm_weight is None and not lists.has_scores:
        lm_weight = 1.0
    if reduction is None:
        reduction = "mean" if lm_weight == 1 else "sum"
    if lm_weight is None:
        first, lm = spread(lists, lists.first_pass), spread(lists, lists.lm[reduction])
        share = _GUESSED_SPREAD * first / lm if lm else 0.0
        lm_weight = share / (1 + share)
    if length_bonus is None:
        cost = cost_of_a_word(lists, interpolate(lists, lm_weight, reduction))
        length_bonus = _GUESSED_BONUS[reduction] * cost
    return RerankWeights(float(lm_weight), float(length_bonus), reduction)


def cost_of_a_word(lists, scores):
    """The mean score of a word over all hypotheses, as a positive number: natural log."""
    words = lists.num_words[lists.present].sum()
    return abs(scores[lists.present].sum()) / max(words, 1)


def spread(lists, scores):
    """The standard deviation of the scores within a list, averaged over the lists."""
    scores = np.ma.array(scores, mask=~lists.present)
    return float(scores.std(axis=1).mean())


def _error(metric, totals):
    value = metric.corpus(totals)
    return -value if metric.higher_is_better else value
