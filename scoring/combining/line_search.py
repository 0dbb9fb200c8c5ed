"""The error along a line of weights, smoothed, for either decision.

With the decision `max`, the error is piecewise constant along a line, and the positions where it
changes are known exactly: Och, "Minimum error rate training in statistical machine translation",
ACL 2003. Its smooth version, an average weighted by a Gaussian, is then exact, too. With `mbr` the
posteriors change everywhere, so that the error is measured at the grid points only.

L lists, N hypotheses in the longest, F columns, T grid points, G groups of lists, S statistics.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tta.scoring.combining.columns import Columns
from tta.scoring.combining.risk import posteriors
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.statistics import ListStatistics

# Steps along a line, relative to the length of the point that it starts from.
_SIZES = np.geomspace(0.02, 4.0, 20)
STEPS = np.concatenate([-_SIZES[::-1], [0.0], _SIZES])

# Standard deviation of the Gaussian, in the same unit. The lowest point of a jagged error is partly
# luck; smoothing prefers broad valleys.
WIDTH = 0.1

_UNDEFINED = 1e9  # in place of infinity, which cannot be smoothed
_CHUNK = 32  # points measured at a time, which limits memory


@dataclass(frozen=True)
class Lines:
    """Measures weights on lists with references.

    Attributes:
        groups: [L] int64, the group of each list, 0 to G - 1.
        decision: `max` or `mbr`.
        scale: the scale of the combined scores, if it is given.
    """

    lists: ScoredLists
    statistics: ListStatistics
    columns: Columns
    groups: np.ndarray
    decision: str
    scale: float | None = None

    @property
    def num_groups(self) -> int:
        """G."""
        return int(self.groups.max()) + 1

    def rescaled(self, points: np.ndarray) -> np.ndarray:
        """Gives points the scale that is given, if one is: [T, F] -> [T, F]."""
        if self.scale is None:
            return points
        scales = self.columns.scale(points)[:, None]
        return points * self.scale / np.where(scales > 0, scales, 1.0)

    def totals(self, points: np.ndarray) -> np.ndarray:
        """The statistics of the picks at each point, summed by group: [T, F] -> [T, G, S]."""
        parts = [
            self._totals(points[start : start + _CHUNK]) for start in range(0, len(points), _CHUNK)
        ]
        return np.concatenate(parts)

    def along(self, point: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """The smooth error of each complement of a group, and of all lists, at `STEPS`.

        Returns:
            [T, G + 1] float64: column g is the error on all lists but those of group g; the last
            column is that on all lists.
        """
        if self.decision == "max":
            positions, totals = self._pieces(point, direction)
            edges = (positions - STEPS[:, None]) / WIDTH  # [T, M]
            cumulative = np.pad(ndtr(edges), [(0, 0), (1, 1)], constant_values=((0, 0), (0.0, 1.0)))
            weights = np.diff(cumulative, axis=1)
        else:
            totals = self.totals(self.rescaled(point + STEPS[:, None] * direction))
            weights = kernel(STEPS, WIDTH)
        return self.smooth_errors(totals, weights)

    def smooth_errors(self, totals: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Weighted means of the `errors` of M totals: [M, G, S], [T, M] -> [T, G + 1] float64."""
        return (weights @ self.errors(totals)).round(9)  # rounding errors must not break ties

    def errors(self, totals: np.ndarray) -> np.ndarray:
        """The errors on the complements and on all lists: [T, G, S] -> [T, G + 1] float64."""
        everything = totals.sum(axis=1, keepdims=True)
        totals = np.concatenate([everything - totals, everything], axis=1)
        return np.minimum(self.statistics.error(totals), _UNDEFINED)

    def _totals(self, points):
        present, values = self.lists.present, self.columns.values
        totals = np.zeros([len(points), self.num_groups, self.statistics.counts.shape[-1]], int)
        if self.decision == "max":
            scores = np.where(present[..., None], values @ points.T, -np.inf)
            self._add(totals, np.arange(len(present)), scores.argmax(axis=1))
            return totals
        assert self.lists.losses is not None
        picks = np.zeros([len(present), len(points)], int)  # of empty lists, too
        for rows, losses in self.lists.losses.blocks:
            width = losses.shape[1]
            here = present[rows, :width]
            # An extreme score stays extreme, and the products are float32, too.
            known = np.clip(values[rows, :width], -1e30, 1e30).astype(np.float32)
            scores = known @ points.T.astype(np.float32)
            expected = losses @ posteriors(here, scores)
            expected[~here] = np.inf
            picks[rows] = expected.argmin(axis=1)
        self._add(totals, np.arange(len(present)), picks)
        return totals

    def _add(self, totals, rows, picks):
        """Adds the statistics of picks [B, T] from lists `rows` to totals [T, G, S]."""
        counts = np.take_along_axis(self.statistics.counts[rows], picks[..., None], axis=1)
        for group in range(self.num_groups):
            totals[:, group] += counts[self.groups[rows] == group].sum(axis=0)

    def _pieces(self, point, direction):
        """The steps at which a pick of `max` changes, and the totals between them.

        The scores of a list's hypotheses are straight lines over the step. The picks are their
        upper envelope. All lists walk along it at once, from the left: the line with the lowest
        slope comes first, then the line of higher slope that is met first.

        Returns:
            ([M] float64, rising; [M + 1, G, S] int64)
        """
        present, counts = self.lists.present, self.statistics.counts
        height = np.where(present, self.columns.values @ point, -np.inf)
        slope = np.where(present, self.columns.values @ direction, np.inf)
        lowest = slope.min(axis=1, keepdims=True)
        pick = np.where(slope == lowest, height, -np.inf).argmax(axis=1)
        first = np.zeros([1, self.num_groups, counts.shape[-1]], int)
        self._add(first, np.arange(len(pick)), pick[:, None])
        positions, groups, changes = [np.zeros(0)], [np.zeros(0, int)], [counts[:0, 0]]
        rows = np.flatnonzero(present.any(axis=1))
        reached = np.full(len(pick), -np.inf)
        while len(rows):
            now = pick[rows, None]
            rise = slope[rows] - np.take_along_axis(slope[rows], now, axis=1)
            drop = np.take_along_axis(height[rows], now, axis=1) - height[rows]
            steeper = (rise > 1e-12) & present[rows]
            meets = np.where(steeper, drop / np.where(steeper, rise, 1.0), np.inf)
            # A rounding error must not lead back: then a pick would be left before it is taken.
            position = np.maximum(meets.min(axis=1), reached[rows])
            # Of several lines met at the same position, the steepest is above the others later.
            new = np.where(meets <= position[:, None], rise, -np.inf).argmax(axis=1)
            more = np.isfinite(position)
            rows, new, position = rows[more], new[more], position[more]
            reached[rows] = position
            positions.append(position)
            groups.append(self.groups[rows])
            changes.append(counts[rows, new] - counts[rows, pick[rows]])
            pick[rows] = new
        position = np.concatenate(positions)
        order = np.argsort(position, kind="stable")
        steps = np.zeros([len(position), self.num_groups, counts.shape[-1]], int)
        group, change = np.concatenate(groups)[order], np.concatenate(changes)[order]
        steps[np.arange(len(position)), group] = change
        return position[order], np.concatenate([first, steps]).cumsum(axis=0)


def kernel(steps: np.ndarray, width: float) -> np.ndarray:
    """Gaussian weights of values at uneven steps: [T] -> [T, T] float64, rows with sum 1."""
    weights = np.exp(-0.5 * ((steps[:, None] - steps) / width) ** 2) * np.gradient(steps)
    return weights / weights.sum(axis=1, keepdims=True)
