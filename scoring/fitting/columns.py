"""What is typical of a column of scores: of the first pass, or of a further feature of the lists.

Shapes: L lists, N hypotheses in the longest list.
"""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from tta.errors import InputError

# The hypotheses of a list that are described, in the order of the file: lists of 5 and of 50
# hypotheses are then alike.
_DESCRIBED = 5
# The standard error of a median, by that of a mean; the quartiles of a normal distribution are as
# far apart, in standard deviations.
_MEDIAN, _QUARTILES = 1.2533, 1.349
# The largest logarithm of a score is 230 (`tta.data.nbest.lists.MAX_NUMBER`).
_MAX_VALUE = 500.0


@dataclass(frozen=True)
class Typical:
    """The typical number of lists, each of which has one.

    Attributes:
        value: the mean or the median.
        width: the standard error of `value`, times the root of `count`.
        count: the number of lists that have a number; if it is 0, the others are.

    Raises:
        InputError: a number is out of its range.
    """

    value: float = 0.0
    width: float = 0.0
    count: int = 0

    def __post_init__(self):
        if not (abs(self.value) <= _MAX_VALUE and self.width >= 0 and self.count >= 0):
            raise InputError(f"tuned_on: a number is out of its range: {asdict(self)}")

    @classmethod
    def mean(cls, numbers: np.ndarray) -> "Typical":
        """The mean of L float64; lists with NaN have no number."""
        numbers = numbers[~np.isnan(numbers)]
        if not len(numbers):
            return cls()
        return cls(float(numbers.mean()), float(numbers.std()), len(numbers))

    @classmethod
    def median(cls, numbers: np.ndarray) -> "Typical":
        """The median of L float64; lists with NaN have no number."""
        numbers = numbers[~np.isnan(numbers)]
        if not len(numbers):
            return cls()
        low, middle, high = np.percentile(numbers, [25, 50, 75])
        return cls(float(middle), float(_MEDIAN * (high - low) / _QUARTILES), len(numbers))


@dataclass(frozen=True)
class Column:
    """What is typical of the first five hypotheses of lists, in the order of the file.

    Attributes:
        size: the logarithm of the number of hypotheses of a list, of which there are 2 to 5.
        spread: the logarithm of the standard deviation within a list.
        level: the logarithm of the size of the mean of a list.
        sign: the mean sign within a list, -1 to 1.
        order: of the pairs of hypotheses, the share that falls from the first to the last, minus
            the share that rises, -1 to 1.
        words: of the pairs, the share where more words have a higher score, minus the share where
            they have a lower one, -1 to 1.
    """

    size: Typical
    spread: Typical
    level: Typical
    sign: Typical
    order: Typical
    words: Typical

    @classmethod
    def describe(cls, scores: np.ndarray, num_words: np.ndarray, present: np.ndarray) -> "Column":
        """Describes a column.

        Args:
            scores: [L, N] float64.
            num_words: [L, N] int64, of each hypothesis.
            present: [L, N] bool, False at padding.
        """
        several = present.sum(axis=1) > 1
        scores, num_words, present = (
            array[several, :_DESCRIBED] for array in (scores, num_words, present)
        )
        count = present.sum(axis=1)
        scores = np.where(present, scores, 0.0)
        mean = scores.sum(axis=1) / count
        squares = np.where(present, scores - mean[:, None], 0.0) ** 2
        spread = np.sqrt(squares.sum(axis=1) / (count - 1))
        varies = spread > 1e-9 * np.abs(scores).max(axis=1, initial=0.0)
        places = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
        return cls(
            size=Typical.mean(np.log(count)),
            spread=Typical.median(_log(np.where(varies, spread, 0.0))),
            level=Typical.median(_log(np.abs(mean))),
            sign=Typical.median(np.sign(scores).sum(axis=1) / count),
            order=Typical.mean(_agreement(scores, -places, present)),
            words=Typical.mean(_agreement(scores, num_words, present)),
        )

    @classmethod
    def from_dict(cls, values: dict[str, dict[str, Any]]) -> "Column":
        """The inverse of `to_dict`. Raises InputError if it has other fields."""
        try:
            return cls(**{name: Typical(**numbers) for name, numbers in values.items()})
        except (AttributeError, TypeError):
            names = ", ".join(field.name for field in fields(cls))
            rule = f"tuned_on: expected value, width and count of each of {names}"
            raise InputError(rule) from None

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """What JSON can hold."""
        return asdict(self)

    @property
    def is_ranked(self) -> bool:
        """Whether the scores are the same in nearly every list, up to a constant, as ranks are."""
        return self.spread.width < 1e-6 and math.isclose(abs(self.order.value), 1.0)


def _log(numbers: np.ndarray) -> np.ndarray:
    """The logarithms; NaN for 0."""
    return np.log(np.where(numbers > 0, numbers, np.nan))


def _agreement(scores: np.ndarray, others: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Goodman and Kruskal's gamma of two columns within lists: [L] float64.

    It is NaN for lists in which no two hypotheses differ in both.
    """
    first, second = np.triu_indices(scores.shape[1], 1)
    signs = np.sign(scores[:, first] - scores[:, second])
    signs = signs * np.sign(others[:, first] - others[:, second])
    signs = np.where(present[:, first] & present[:, second], signs, 0.0)
    differing = np.abs(signs).sum(axis=1)
    return signs.sum(axis=1) / np.where(differing > 0, differing, np.nan)
