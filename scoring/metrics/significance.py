"""How sure a difference is: confidence intervals by a paired bootstrap over lists.

Bisani and Ney, "Bootstrap estimates for confidence intervals in ASR performance evaluation",
ICASSP 2004: the test set is drawn again with replacement, list by list, the same lists for every
system; the middle 95 % of what the systems' difference then is, is its interval.
"""

import warnings

import numpy as np

from tta.errors import InputError

LEVEL = 0.95
RESAMPLES = 10_000
SEED = 0

# What the report says of its intervals.
SIGNATURE = (
    f"bootstrap|paired:lists|interval:{LEVEL:.0%} percentile|resamples:{RESAMPLES}|seed:{SEED}"
)

_BATCH = 500  # resamples at a time: bounds memory at 500 numbers a list


def paired_bootstrap(picked, metric, quantities, resamples=RESAMPLES, seed=SEED):
    """Confidence intervals of numbers that follow from several systems' values of a metric.

    Args:
        picked: [S, L, K] int64, the statistics of what S systems picked from the same L lists.
        metric: `WordErrorRate` or `Bleu`.
        quantities: [S, R] float64, the systems' values on R resamples -> [Q, R] float64, the
            numbers in question; works on one resample or many.
        resamples: how often the lists are drawn again.
        seed: same seed, same intervals.

    Returns:
        [Q, 2] float64: lower and upper bound of each number, in its own unit. NaN where there is
        no interval: a single list, or a resample on which the number or the metric is undefined
        (such as a gain over a first pass without an error).
    """
    from scipy import stats

    systems, lists, size = picked.shape
    columns = picked.transpose(1, 0, 2).reshape(lists, -1).astype(np.float64)

    def on_resamples(index, axis=-1):
        times = _occurrences(index, lists)  # [R, L]
        # Sums of integers far below 2 ** 53: the float64 product is exact.
        totals = (times @ columns).astype(np.int64).reshape(-1, systems, size)
        return quantities(metric.corpus(totals).T)

    undefined = np.full([len(quantities(np.ones([systems, 1]))), 2], np.nan)
    if lists < 2:
        return undefined
    try:
        with warnings.catch_warnings():  # of numbers without an interval: they are NaN
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            interval = stats.bootstrap(
                (np.arange(lists),),
                on_resamples,
                n_resamples=resamples,
                batch=_BATCH,
                vectorized=True,
                confidence_level=LEVEL,
                method="percentile",
                rng=np.random.default_rng(seed),
            ).confidence_interval
    except InputError:  # a resample without a word in its references
        return undefined
    bounds = np.stack([interval.low, interval.high], axis=-1)
    return np.where(np.isfinite(bounds).all(axis=-1, keepdims=True), bounds, np.nan)


def relative_gain(values, base, metric):
    """By how much values are better than a base, in percent of it: positive is better.

    Args:
        values: [...] float64, values of the metric.
        base: [...] float64, what they are compared with.
        metric: `WordErrorRate` or `Bleu`.

    Returns:
        [...] float64, percent; NaN where the base is 0.
    """
    sign = 1 if metric.higher_is_better else -1
    base = np.asarray(base, np.float64)
    return sign * 100 * (values - base) / np.where(base == 0, np.nan, base)


def _occurrences(index, lists):
    """How often each list was drawn: [R, L] int64 indices -> [R, L] float64."""
    rows = np.arange(len(index))[:, None] * lists
    return (
        np.bincount((index + rows).ravel(), minlength=len(index) * lists)
        .reshape(len(index), lists)
        .astype(np.float64)
    )
