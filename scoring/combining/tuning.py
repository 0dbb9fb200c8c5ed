"""Choosing the weights of reranking, on lists with references or from the scale of the scores."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter

from tta.scoring.combining.decision import add_bonus, interpolate, pick, select
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.weights import FIRST_PASS, GivenWeights, RerankWeights

# The scales of the two scores may differ by orders of magnitude in either direction. The grid is
# therefore even in the logarithm of w / (1 - w): ten steps per decade, from 1/1000 to 1000.
_ODDS = np.geomspace(1e-3, 1e3, 61)
LM_WEIGHTS = np.array([0.0, *(_ODDS / (1 + _ODDS)), 1.0])

# The grid of bonuses depends on the scale of the scores, too. With a bonus of 1 unit, the bonus
# term has the same spread within a list as the scores without it. The unit does not depend
# on constants that first-pass scores may have for each list.
BONUSES = np.linspace(-0.5, 1.0, 49)

# Standard deviation, in grid steps, of the smoothing of the dev error before its minimum is taken.
_SMOOTHING = 2.0

# Without dev lists: the spread of the language model's scores within a list, relative to that of
# the first pass, and, for each reduction, the bonus relative to the model's cost of a word.
_GUESSED_SPREAD = 0.25
_GUESSED_BONUS = {"sum": 2.0, "mean": 0.5}


def tune(lists: ScoredLists, statistics: ListStatistics, given: GivenWeights) -> RerankWeights:
    """Chooses the weights that are not given, on lists with references.

    The whole grid is tried. The single best point of a jagged error surface is partly luck. The
    choice is therefore the point with the lowest error after smoothing (Gaussian, two grid steps
    wide) among the points that are better than the first pass; among equals, the smallest
    lm_weight. On held-out parts of real ASR lists (with an n-gram model) this was better than the
    plain minimum. If no point is better than the first pass, the order of the first pass is kept.
    So unless lm_weight or length_bonus is given, the result is never worse on these lists than the
    first pass. If there are no first-pass scores, or none that differ within a list, lm_weight is
    1, or 0 to keep the order.
    """
    surface = survey(lists, statistics, given)
    allowed = None
    if given.lm_weight is None and given.length_bonus is None:
        allowed = surface.error < error_of(lists, statistics, FIRST_PASS)
    best = surface.lowest(allowed)
    if best is None:
        return replace(FIRST_PASS, reduction=given.reductions[0], shares=given.shares)
    return best[1]


@dataclass(frozen=True)
class Surface:
    """The error at every point of a grid of weights: R reductions, W lm_weights, B bonuses.

    Attributes:
        points: [R, W, B] `RerankWeights`.
        error: [R, W, B] float64, see `ListStatistics.error`; lower is better.
        smooth: [R, W, B] float64, the error smoothed over neighbouring points.
    """

    points: np.ndarray
    error: np.ndarray
    smooth: np.ndarray

    def lowest(self, allowed: np.ndarray | None = None) -> tuple[float, RerankWeights] | None:
        """(smoothed error, weights) where this error is lowest, the first point among equals.

        `allowed` [R, W, B] bool selects the points to choose from; None selects all. The result is
        None if no point is allowed.
        """
        smooth = self.smooth if allowed is None else np.where(allowed, self.smooth, np.inf)
        index = np.unravel_index(smooth.argmin(), smooth.shape)
        return None if np.isinf(smooth[index]) else (float(smooth[index]), self.points[index])


def survey(lists: ScoredLists, statistics: ListStatistics, given: GivenWeights) -> Surface:
    """Measures the error on the grid of `tune`."""
    free = LM_WEIGHTS if lists.has_scores else [1.0]
    lm_weights = free if given.lm_weight is None else [given.lm_weight]
    num_bonuses = len(BONUSES) if given.length_bonus is None else 1

    points = np.empty([len(given.reductions), len(lm_weights), num_bonuses], object)
    totals = np.empty([*points.shape, statistics.counts.shape[-1]], np.int64)
    for r, reduction in enumerate(given.reductions):
        lm = lists.mix(given.shares, reduction)
        for i, weight in enumerate(lm_weights):
            scores = interpolate(lists, lm, weight)
            if given.length_bonus is None:
                bonuses = BONUSES * _bonus_unit(lists, scores) + 0.0  # no -0.0
            else:
                bonuses = np.array([given.length_bonus])
            for j, bonus in enumerate(bonuses.tolist()):
                points[r, i, j] = RerankWeights(float(weight), bonus, reduction, given.shares)
                picks = pick(add_bonus(lists, scores, bonus))
                totals[r, i, j] = statistics.of(picks).sum(axis=0)

    error = statistics.error(totals)
    smooth = np.stack([gaussian_filter(plane, _SMOOTHING, mode="nearest") for plane in error])
    return Surface(points, error, smooth.round(9))  # rounding errors must not break ties


def error_of(lists: ScoredLists, statistics: ListStatistics, weights: RerankWeights) -> float:
    """The error of the picks under `weights`, as in a `Surface`; lower is better."""
    return float(statistics.error(statistics.of(select(lists, weights)).sum(axis=0)))


def guess(lists: ScoredLists, given: GivenWeights) -> RerankWeights:
    """Chooses the weights that are not given without references, from the scale of the scores.

    - reduction: the sum; the mean if the language model decides alone, because the sum prefers the
      shortest hypothesis.
    - lm_weight: the language model's scores vary within a list a quarter as much as those of the
      first pass; 1 if those of the first pass are missing or do not differ within any list.
    - length_bonus: lm_weight times twice the language model's average cost of a word (half of it
      for the mean). A model makes long hypotheses less probable; this corrects for it.

    A constant that is added to the first-pass scores of a list changes nothing. The factors are
    round numbers on a plateau: spreads of 0.2 to 0.35 and bonuses of 1.5 to 2.5 gain about as much
    on the dev lists of benchmarks/evaluate.sh. Tuned weights are better.
    """
    lm_weight, length_bonus = given.lm_weight, given.length_bonus
    if lm_weight is None and not lists.has_scores:
        lm_weight = 1.0
    reduction = given.reduction or ("mean" if lm_weight == 1 else "sum")
    mixed = lists.mix(given.shares, reduction)
    if lm_weight is None:
        first, lm = spread(lists, lists.first_pass), spread(lists, mixed)
        odds = _GUESSED_SPREAD * first / lm if lm else 0.0
        lm_weight = odds / (1 + odds)
    if length_bonus is None:
        length_bonus = lm_weight * _GUESSED_BONUS[reduction] * cost_of_a_word(lists, mixed)
    return RerankWeights(float(lm_weight), float(length_bonus), reduction, given.shares)


def cost_of_a_word(lists: ScoredLists, lm: np.ndarray) -> float:
    """The average per word of a language model's [L, N] scores, negated: natural log.

    First-pass scores have no such average: they may have another constant in each list.
    """
    words = lists.num_words[lists.present].sum()
    return float(-lm[lists.present].sum() / max(words, 1))


def _bonus_unit(lists, scores):
    words = spread(lists, lists.num_words)
    return spread(lists, scores) / words if words else 0.0


def spread(lists: ScoredLists, scores: np.ndarray) -> float:
    """The standard deviation of [L, N] scores within a list, averaged over the lists."""
    masked = np.ma.array(scores, mask=~lists.present)
    return float(masked.std(axis=1).mean())
