"""Semantic similarity of sentence pairs: cosine of pooled vectors, correlated with people's scores.

Shin et al. 2020, section 4.3: unsupervised STS, Pearson's r; Spearman's rho is printed beside it.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tta.errors import InputError


@dataclass(frozen=True)
class Correlation:
    """How well similarities follow gold scores, both x 100, from -100 to 100."""

    pearson: float
    spearman: float


def cosine(first, second):
    """The cosine of each pair of vectors.

    Args:
        first, second: [P, D] floating point.

    Returns:
        [P] float64, -1 to 1.

    Raises:
        InputError: a vector is zero or not finite; the message counts pairs from 1.
    """
    first, second = np.asarray(first, np.float64), np.asarray(second, np.float64)
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    for index in np.flatnonzero(~(np.isfinite(norms) & (norms > 0))):
        what = "zero" if norms[index] == 0 else "not finite"
        raise InputError(f"pair {index + 1}: a sentence's vector is {what}, it has no cosine")
    return np.sum(first * second, axis=1) / norms


def correlate(similarities, gold):
    """Pearson's and Spearman's correlation of [P] similarities with [P] gold scores.

    Returns:
        A `Correlation`.

    Raises:
        InputError: fewer than two pairs, or all similarities or all gold scores are equal: the
            correlation is not defined.
    """
    if len(gold) < 2:
        raise InputError(f"a correlation takes at least two pairs, got {len(gold)}")
    for name, values in ("similarities", similarities), ("gold scores", gold):
        if np.ptp(values) == 0:
            raise InputError(f"all {name} are {values[0]:g}: there is no correlation")
    with warnings.catch_warnings():
        warnings.simplefilter("error", stats.DegenerateDataWarning)
        try:
            pearson = stats.pearsonr(similarities, gold).statistic
            spearman = stats.spearmanr(similarities, gold).statistic
        except stats.DegenerateDataWarning as warning:
            raise InputError(f"there is no correlation: {warning}") from None
    return Correlation(100 * float(pearson), 100 * float(spearman))
