"""The weights before any evidence: what reranks without dev lists, and the prior of tuning."""

import math

import numpy as np

from tta.scoring.combining.list_features import LIST_FEATURES
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.weights import FixedWeights, RerankWeights

# The size of a difference that is neither small nor large: of a model's scores, natural log, and of
# the other columns of the combined score. So no weight grows without bound where a column hardly
# varies, and the guess does not depend on how much it varies in the lists at hand.
MODEL_UNITS = {"sum": 9.0, "mean": 0.9}

# The bonus per word that makes up for a model's cost of a word, natural log. The mean has none.
_COST_OF_A_WORD = {"sum": 4.5, "mean": 0.0}

# The spread of -ln(rank) in a list of five. Ranks need no measured spread: it is known.
_SPREAD_OF_RANKS = 0.6

# The typical spread of first-pass scores within a list, natural log. It counts nearly alone where
# one list of two hypotheses shows the scale, and soon nothing where more do: the chance that scores
# lie close together by accident falls with a power of their number.
_TYPICAL, _TYPICAL_COUNT, _TYPICAL_POWER = 8.0, 2.0, 4

# Times the median distance of a score to the median of its list.
_EXTREME = 100.0

# How much a unit of the model's scores and one of the distance count, where one of the first pass
# counts 1. Chosen on dev lists: with the features of the whole list, and without.
_WITH_LIST, _WITHOUT = (1.0, 1.5), (0.2, 0.0)


def guess(lists: ScoredLists, fixed: FixedWeights) -> RerankWeights:
    """Chooses the weights that are not fixed without references.

    - scale: the first-pass scores, times their weight and the scale, have a standard deviation of 1
      within a list. The decision is `mbr` if the lists have losses.
    - lm_weight: a difference of 9 nats between the models' sums counts as much as one standard
      deviation of the first pass. Without `distance`, it counts 0.2 times as much.
      Several models count equally.
    - length_bonus: 4.5 nats per word, times `lm_weight`, because a model makes long hypotheses less
      probable. Without a model, there is none.
    - features: `distance`, 1.5 standard deviations of the first pass for 4 characters. So it counts
      more in long lists, whose distances differ more. It is not used if the decision is `max`, nor
      with a scale that is fixed. Other features are not used.

    A constant that is added to the first-pass scores of a list changes nothing, and no other list
    does, except through the spread of the first-pass scores. docs/reranking.md has what this gives.
    """
    unit = first_pass_unit(lists)
    reduction = fixed.reduction or "sum"
    count = len(lists.models)
    shares = (1 / max(count, 1),) * count if fixed.shares is None else fixed.shares
    decision = fixed.decides(lists.losses is not None)
    distance = fixed.features.get("distance", 0.0)  # None: to be chosen
    if distance is None and (decision == "max" or fixed.scale is not None):
        distance = 0.0
    without = distance == 0 or "distance" not in lists.features
    of_model, of_distance = _WITHOUT if without else _WITH_LIST
    per_nat = of_model / MODEL_UNITS[reduction]
    lm_weight = fixed.lm_weight
    if lm_weight is None:
        odds = per_nat * unit if shares else 0.0
        lm_weight = odds / (1 + odds)
    bonus = fixed.length_bonus
    if bonus is None:
        bonus = lm_weight * _COST_OF_A_WORD[reduction]
    scale = fixed.scale
    if scale is None:
        first = 1 / (unit * (1 - lm_weight)) if lm_weight < 1 else per_nat
        scale = math.inf if decision == "max" else first
    features = {name: weight for name, weight in fixed.features.items() if weight}
    if distance is None and of_distance and lm_weight < 1:
        features["distance"] = of_distance / LIST_FEATURES.load("distance").unit * unit
    is_guessed = fixed.length_bonus is None and 0 < lm_weight < 1
    return RerankWeights(
        lm_weight=lm_weight,
        length_bonus=bonus,
        reduction=reduction,
        shares=shares,
        scale=scale,
        features=features,
        bonus_is_guessed=is_guessed,
    )


def first_pass_unit(lists: ScoredLists) -> float:
    """The typical difference of first-pass scores within a list: > 0, in the unit of the scores.

    The spread of few hypotheses is uncertain: two whose scores differ by 0.1 do not show that 0.1
    is much. The fewer hypotheses, the closer the result is to the typical spread. For ranks in
    place of scores, it is a constant; if no scores differ, it is 1.
    """
    if lists.ranked:
        return _SPREAD_OF_RANKS
    deviation = spread(lists, lists.first_pass)
    if not deviation:
        return 1.0
    count = int(np.maximum(lists.present.sum(axis=1) - 1, 0).sum())
    share = 1 / (1 + (count / _TYPICAL_COUNT) ** _TYPICAL_POWER)
    return deviation ** (1 - share) * _TYPICAL**share


def extreme(lists: ScoredLists, scores: np.ndarray) -> np.ndarray:
    """Which scores say nothing about the scale of [L, N] scores: [L, N] bool.

    A score's distance is that to the median of its list. Extreme ones are `_EXTREME` times as
    large as the median distance of all lists, such as a -1e9 that means "impossible".
    """
    several = lists.present.sum(axis=1) > 1
    is_extreme = np.zeros(lists.present.shape, bool)
    if several.any():
        present_scores = np.where(lists.present[several], scores[several], np.nan)
        distances = np.abs(present_scores - _medians(present_scores))
        differ = np.sort(distances[distances > 0])  # False for NaN
        limit = _EXTREME * differ[(len(differ) - 1) // 2] if len(differ) else np.inf
        is_extreme[several] = distances > limit
    return is_extreme


def _medians(scores: np.ndarray) -> np.ndarray:
    """The median of each row without its NaN, of [L, N] scores with one at least: [L, 1] float64.

    `np.nanmedian` gives the same. It takes ten times as long on rows of few numbers.
    """
    counts = np.isfinite(scores).sum(axis=1, keepdims=True)
    in_order = np.sort(scores, axis=1)  # NaN is last
    middle = np.concatenate([(counts - 1) // 2, counts // 2], axis=1)
    return np.take_along_axis(in_order, middle, axis=1).sum(axis=1, keepdims=True) / 2


def spread(lists: ScoredLists, scores: np.ndarray) -> float:
    """The standard deviation of [L, N] scores within a list, without `extreme` ones.

    It is averaged over the lists whose scores differ; 0 if there are none.
    """
    present = lists.present & ~extreme(lists, scores)
    counts = np.maximum(present.sum(axis=1, keepdims=True), 1)
    means = np.where(present, scores, 0.0).sum(axis=1, keepdims=True) / counts
    squares = np.where(present, scores - means, 0.0) ** 2
    deviations = np.sqrt(squares.sum(axis=1) / counts[:, 0])
    return float(deviations[deviations > 0].mean()) if (deviations > 0).any() else 0.0
