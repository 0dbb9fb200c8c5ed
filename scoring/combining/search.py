"""The search for the weights with the lowest error on lists with references, and its check.

Minimum error rate training (Och 2003): from several starts, one weight after the other is moved to
the lowest point of the smooth error along its line, until nothing improves. Nothing is random, so
the same lists give the same weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tta.scoring.combining.columns import BASE, FIRST, MODEL
from tta.scoring.combining.line_search import STEPS, WIDTH, Lines, kernel

_STARTS = 3  # the best of the starting points
_SWEEPS = 6  # over all columns; the search nearly always ends earlier

# Starting points: scales of the posterior, and the models' part of the scores, in units of the
# spread of the first column within a list.
_SCALES = (0.5, 1.0, 2.0, 4.0, 8.0)
_PARTS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)

# The factors by which the scale is changed, and the logarithmic width of their smoothing.
_FACTORS = np.geomspace(1 / 8, 8, 41)
_NEIGHBOURS = 0.1


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Attributes:
        point: [F] float64, the chosen weights of the columns.
        error: the smooth error at this point, on all lists; lower is better.
        held_out: [G, F] float64: for each group of lists, the point that the search would have
            chosen, of all that it visited, without seeing this group.
    """

    point: np.ndarray
    error: float
    held_out: np.ndarray


def search(lines: Lines, starts: Sequence[np.ndarray] = ()) -> Found:
    """Finds the weights with the lowest smooth error. `starts` are further points, [F] each."""
    visits = _Visits(lines.num_groups)
    columns = lines.columns
    candidates = np.array([*_starts(columns, lines.decision), *starts])
    candidates = lines.rescaled(candidates)
    candidates = candidates[columns.allowed(candidates)]
    errors = lines.errors(lines.totals(candidates))[:, -1]
    best = [
        _descend(lines, candidates[i], visits) for i in np.argsort(errors, kind="stable")[:_STARTS]
    ]
    errors = [_error_around(lines, point) for point in best]
    choice = int(np.argmin(errors))
    return Found(best[choice], errors[choice], visits.points(best[choice]))


class _Visits:
    """For each group, the visited point with the lowest smooth error on the other groups."""

    def __init__(self, num_groups):
        self._errors = np.full(num_groups, np.inf)
        self._points: list = [None] * num_groups

    def add(self, points, errors):
        """Adds [T, F] points with [T, G + 1] errors; inf where a point is not allowed."""
        for group, i in enumerate(errors[:, :-1].argmin(axis=0)):
            if errors[i, group] < self._errors[group]:
                self._errors[group], self._points[group] = errors[i, group], points[i]

    def points(self, default):
        return np.array([default if point is None else point for point in self._points])


def _starts(columns, decision):
    """Points with one model or all, several parts and, for `mbr`, several scales: [n, F]."""
    first, models = columns.where(FIRST, BASE), columns.where(MODEL)
    groups = [models[k : k + 1] for k in range(len(models))] + [models] * (len(models) > 1)
    starts = []
    for scale in _SCALES if decision == "mbr" else (1.0,):
        for group in groups or [models]:
            for part in _PARTS if len(group) and len(first) else (1.0,):
                point = np.zeros(len(columns.kinds))
                point[first] = scale
                point[group] = scale * part / max(len(group), 1)
                starts.append(point)
    return np.unique(starts, axis=0)


def _descend(lines, point, visits):
    """Coordinate descent from a point: [F] -> [F]."""
    columns = lines.columns
    for _ in range(_SWEEPS):
        before = point
        for column in range(len(point)):
            direction = np.zeros(len(point))
            direction[column] = np.linalg.norm(point)
            steps = point + STEPS[:, None] * direction
            errors = lines.along(point, direction)
            point = _lowest(columns, lines.rescaled(steps), errors, point, visits)
        if lines.decision == "mbr" and lines.scale is None:
            steps = point * _FACTORS[:, None]
            weights = kernel(np.log(_FACTORS), WIDTH)
            errors = lines.smooth_errors(lines.totals(steps), weights)
            point = _lowest(columns, steps, errors, point, visits)
        if np.array_equal(point, before):
            break
    return point


def _lowest(columns, steps, errors, point, visits):
    """The allowed step with the lowest error; `point` itself, in the middle, if none is lower."""
    errors = np.where(columns.allowed(steps)[:, None], errors, np.inf)
    visits.add(steps, errors)
    i = errors[:, -1].argmin()
    return steps[i] if errors[i, -1] < errors[len(steps) // 2, -1] else point


def _error_around(lines, point):
    """The average error near a point: it compares ends of descents, whose last lines differ."""
    random = np.random.default_rng(0)
    near = point * np.exp(random.normal(0.0, _NEIGHBOURS, [16, len(point)]))
    return float(lines.errors(lines.totals(lines.rescaled(near)))[:, -1].mean().round(9))
