"""Semantic textual similarity: cosines of sentence vectors, and their correlation with gold scores.

Shin et al. 2020, section 5.4: unsupervised STS, Pearson's r. We report Spearman's rho, too.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tta.errors import InputError


@dataclass(frozen=True)
class Correlation:
    """Correlation coefficients of similarities with gold scores, times 100: -100 to 100."""

    pearson: float
    spearman: float


def cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Computes the cosine of each pair of vectors: [P, D], [P, D] -> [P] float64, -1 to 1.

    It is 0 if one of the vectors is zero: nothing is known about such a text. Raises InputError if
    a vector is not finite. The message gives the pair's number, from 1.
    """
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    for index in np.flatnonzero(~np.isfinite(norms)):
        raise InputError(f"pair {index + 1}: the cosine is not defined, a vector is not finite")
    return np.clip(np.sum(first * second, axis=1) / np.where(norms > 0, norms, 1.0), -1.0, 1.0)


def correlate(similarities: ArrayLike, gold: ArrayLike) -> Correlation:
    """Correlates [P] similarities with [P] gold scores.

    Raises InputError if the correlation is not defined: there are fewer than two pairs, or all
    similarities or all gold scores are equal.
    """
    similarities, gold = np.asarray(similarities), np.asarray(gold)
    if len(gold) < 2:
        raise InputError(f"a correlation needs at least two pairs, got {len(gold)}")
    for name, values in ("similarities", similarities), ("gold scores", gold):
        if np.ptp(values) == 0:
            raise InputError(f"the correlation is not defined: all {name} are {values[0] + 0.0:g}")
    with warnings.catch_warnings():
        warnings.simplefilter("error", stats.DegenerateDataWarning)
        try:
            pearson: Any = stats.pearsonr(similarities, gold)
            spearman: Any = stats.spearmanr(similarities, gold)
        except stats.DegenerateDataWarning as warning:
            raise InputError(f"the correlation is not defined: {warning}") from None
    return Correlation(100 * float(pearson.statistic), 100 * float(spearman.statistic))
