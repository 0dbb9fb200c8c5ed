"""Accuracy on minimal pairs, per group, of all pairs and on average, with 95 % intervals.

Warstadt et al., "BLiMP: the benchmark of linguistic minimal pairs for English", TACL 2020: a model
is correct on a pair if the acceptable sentence has the higher score.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from tta.scoring.metrics.significance import LEVEL


@dataclass(frozen=True)
class Accuracy:
    """The share of pairs that are correct.

    Attributes:
        value: in percent.
        interval: lower and upper bound of the 95 % confidence interval, in percent.
        pairs: number of pairs.
        ties: number of pairs whose two scores are equal; they are not correct.
    """

    value: float
    interval: tuple[float, float]
    pairs: int
    ties: int


def accuracy(differences: ArrayLike) -> Accuracy:
    """The accuracy on P > 0 pairs, with Wilson's interval.

    `differences` are [P] float64: the good sentence's score minus the bad sentence's.
    """
    differences = np.asarray(differences)
    correct, pairs = int(np.sum(differences > 0)), len(differences)
    interval = stats.binomtest(correct, pairs).proportion_ci(LEVEL, method="wilson")
    ties = int(np.sum(differences == 0))
    return Accuracy(100 * correct / pairs, (100 * interval.low, 100 * interval.high), pairs, ties)


def mean_accuracy(groups: Sequence[Accuracy]) -> Accuracy:
    """The mean of the accuracies of G > 0 groups. Each group counts the same.

    The interval combines those of the groups: the distance from the mean to each bound is the root
    of the sum of the groups' squared distances, divided by G (Newcombe, "Interval estimation for
    the difference between independent proportions", 1998; Zou and Donner 2008 for any sum). The
    groups are fixed, and their pairs are a sample.
    """
    values = np.array([group.value for group in groups])
    low, high = np.array([group.interval for group in groups]).T
    mean = float(values.mean())
    below = np.linalg.norm(values - low) / len(groups)
    above = np.linalg.norm(high - values) / len(groups)
    pairs, ties = sum(group.pairs for group in groups), sum(group.ties for group in groups)
    return Accuracy(mean, (mean - float(below), mean + float(above)), pairs, ties)
