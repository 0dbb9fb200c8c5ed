"""Confidence intervals of differences, by a paired bootstrap over lists.

Bisani and Ney, "Bootstrap estimates for confidence intervals in ASR performance evaluation",
ICASSP 2004. Lists are drawn from the test set with replacement, the same lists for every system.
The interval of a difference is the middle 95 % of its values on these resamples.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tta.errors import InputError
from tta.scoring.metrics.metric import CorpusMetric, Metric

LEVEL = 0.95
RESAMPLES = 10_000
MIN_LISTS = 10  # resamples of fewer show too little of what other lists would give
SEED = 0

# Describes the intervals in reports.
SIGNATURE = (
    f"bootstrap|paired:lists|interval:{LEVEL:.0%} percentile|resamples:{RESAMPLES}|seed:{SEED}"
)

_BATCH = 500  # resamples at a time; limits memory to 500 numbers per list or pair


def paired_bootstrap(
    picked: np.ndarray,
    metric: CorpusMetric,
    quantities: Callable[[np.ndarray], np.ndarray],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> np.ndarray:
    """Confidence intervals of numbers computed from the metric values of several systems.

    Args:
        picked: [S, L, K] int64, the metric's statistics of what S systems picked from the same L
            lists.
        quantities: computes Q numbers from the systems' values on R resamples: [S, R] float64 ->
            [Q, R] float64.

    Returns:
        [Q, 2] float64, the lower and upper bound of each number. NaN if there are fewer than
        `MIN_LISTS` lists, or if the number or the metric is undefined on a resample.
    """
    systems, lists, size = picked.shape
    # Sums of integers far below 2 ** 53 are exact.
    columns = picked.transpose(1, 0, 2).reshape(lists, -1).astype(np.float64)

    def on_resamples(index):
        # [R, L]: how often each list was drawn.
        times = np.apply_along_axis(np.bincount, -1, index, minlength=lists)
        totals = (times @ columns).reshape(-1, systems, size)
        return quantities(metric.corpus(totals).T)

    undefined = np.full([len(quantities(np.ones([systems, 1]))), 2], np.nan)
    if lists < MIN_LISTS:
        return undefined
    try:
        low, high = interval(bootstrap(lists, on_resamples, resamples, seed))
    except InputError:  # the references of a resample have no words
        return undefined
    bounds = np.stack([low, high], axis=-1)
    return np.where(np.isfinite(bounds).all(axis=-1, keepdims=True), bounds, np.nan)


def bootstrap(
    count: int,
    on_resamples: Callable[[np.ndarray], np.ndarray],
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> np.ndarray:
    """Numbers that are computed from things drawn with replacement: [..., `resamples`] float64.

    Two calls with the same `count` and seed draw the same things, so their results can be
    subtracted.

    Args:
        count: the number of things.
        on_resamples: computes the numbers of R resamples: the drawn things' numbers, [R, `count`]
            int64 from 0 -> [..., R] float64.
    """
    rng = np.random.default_rng(seed)
    sizes = [min(_BATCH, resamples - start) for start in range(0, resamples, _BATCH)]
    return np.concatenate([on_resamples(rng.integers(count, size=(n, count))) for n in sizes], -1)


def interval(values: np.ndarray) -> tuple[Any, Any]:
    """The middle 95 % of numbers on resamples [..., R]: (low, high), NaN if one is NaN."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=-1)
    return low, high


def relative_gain(values: ArrayLike, base: ArrayLike, metric: Metric) -> np.ndarray:
    """How much better the metric's values [...] are than a base [...]: [...] float64.

    In percent of the base; positive is better. NaN where the base is 0.
    """
    sign = 1 if metric.higher_is_better else -1
    base = np.asarray(base, np.float64)
    return sign * 100 * (np.asarray(values) - base) / np.where(base == 0, np.nan, base)
