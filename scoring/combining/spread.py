"""How much scores differ within a list: the unit of scores whose scale is not known."""

import numpy as np

from tta.scoring.combining.scored_lists import ScoredLists

# Times the median distance of a score to the median of its list.
_EXTREME = 100.0


def center(present: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Subtracts the mean of each list from [L, N] scores; 0 at padding."""
    counts = np.maximum(present.sum(axis=1, keepdims=True), 1)
    means = np.where(present, scores, 0.0).sum(axis=1, keepdims=True) / counts
    return np.where(present, scores - means, 0.0)


def extreme(lists: ScoredLists, scores: np.ndarray) -> np.ndarray:
    """Which scores say nothing about the scale of [L, N] scores: [L, N] bool.

    A score's distance is that to the median of its list. Extreme ones are `_EXTREME` times as
    large as the median distance of all lists, such as a -1e9 that means "impossible".
    """
    several = lists.present.sum(axis=1) > 1
    found = np.zeros(lists.present.shape, bool)
    if several.any():
        known = np.where(lists.present[several], scores[several], np.nan)
        distances = np.abs(known - np.nanmedian(known, axis=1, keepdims=True))
        differ = distances[distances > 0]  # False for NaN
        limit = _EXTREME * np.quantile(differ, 0.5, method="lower") if len(differ) else np.inf
        found[several] = distances > limit
    return found


def spread(lists: ScoredLists, scores: np.ndarray) -> float:
    """The standard deviation of [L, N] scores within a list, without `extreme` ones.

    It is averaged over the lists whose scores differ; 0 if there are none.
    """
    present = lists.present & ~extreme(lists, scores)
    deviations = np.ma.array(scores, mask=~present).std(axis=1).filled(0.0)
    return float(deviations[deviations > 0].mean()) if (deviations > 0).any() else 0.0
