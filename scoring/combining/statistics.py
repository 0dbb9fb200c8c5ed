"""A metric over N-best lists: each hypothesis is compared with its reference only once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tta.data.nbest.lists import NBestList
from tta.errors import InputError
from tta.scoring.combining.scored_lists import pad
from tta.scoring.metrics.metric import Metric


@dataclass(frozen=True)
class ListStatistics:
    """A metric's statistics of every hypothesis. The value of any picks follows from a sum.

    `counts` is [L, N, S] int64, zeros at padding; `present` is [L, N] bool, False at padding.
    """

    metric: Metric
    counts: np.ndarray
    present: np.ndarray

    @classmethod
    def build(cls, nbest: Sequence[NBestList], metric: Metric) -> "ListStatistics":
        """Compares every hypothesis with the reference of its list. Every list needs one.

        A list without hypotheses counts as one with an empty hypothesis: all words are deleted.
        """
        counts = []
        for one in nbest:
            assert one.reference is not None
            texts = [h.text for h in one.hypotheses] or [""]
            counts.append(metric.statistics(texts, one.reference))
        return cls(metric, pad(counts), pad([np.ones(len(one), bool) for one in counts]))

    def of(self, picks: np.ndarray) -> np.ndarray:
        """The statistics of the picked hypotheses, list by list: [L] -> [L, S] int64."""
        return self.counts[np.arange(len(picks)), picks]

    def value(self, picks: np.ndarray) -> float:
        """The metric over all picks: [L] -> float."""
        return float(self.metric.corpus(self.of(picks).sum(axis=0)))

    def error(self, totals: np.ndarray) -> np.ndarray:
        """[..., S] summed statistics -> [...] float64: the metric's value, lower is better.

        It is infinite where the metric is not defined.
        """
        try:
            value = self.metric.corpus(totals)
        except InputError:  # some of the totals have no reference words
            is_one = totals.ndim == 1
            return np.array(np.inf) if is_one else np.apply_along_axis(self.error, -1, totals)
        return -value if self.metric.higher_is_better else value

    @cached_property
    def errors(self) -> np.ndarray:
        """`Metric.errors` of every hypothesis: [L, N] float64; infinite at padding."""
        return np.where(self.present, self.metric.errors(self.counts), np.inf)

    def oracle(self) -> np.ndarray:
        """The index of the best hypothesis of each list, by the references: [L] int64."""
        return self.errors.argmin(axis=1)
