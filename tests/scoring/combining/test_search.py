import numpy as np
import pytest

from tests.scoring.combining.random_lists import make
from tta.scoring.combining import search as module
from tta.scoring.combining.columns import Columns
from tta.scoring.combining.line_search import WIDTH, Lines, kernel
from tta.scoring.combining.search import search
from tta.scoring.combining.weights import GivenWeights

DECISIONS = pytest.mark.parametrize("decision", ["max", "mbr"])


def make_lines(seed, decision, scale=None, given=None, **options):
    made = make(seed, **options)
    columns = Columns.build(made.lists, given or GivenWeights(), "sum")
    groups = np.arange(len(made.nbest)) % 5
    return Lines(made.lists, made.statistics, columns, groups, decision, scale)


def errors_of(lines, points):
    return lines.errors(lines.totals(np.array(points)))[:, -1]


@DECISIONS
def test_it_is_as_good_as_thousands_of_random_points(decision):
    given = GivenWeights(features={"f0": None})
    lines = make_lines(1, decision, given=given, models=(1.0, 0.7), features=(-0.5,), count=61)
    found = search(lines)
    assert lines.columns.allowed(found.point)
    random = np.random.default_rng(0)
    points = random.normal(0, 1, [4000, 5]) * np.exp(random.normal(0, 1, [4000, 1]))
    points[:, :3] = np.abs(points[:, :3])
    errors = errors_of(lines, points)
    # The lowest of so many jagged errors is lucky.
    assert errors_of(lines, [found.point])[0] < np.quantile(errors, 0.002)
    assert found.error < np.quantile(errors, 0.05)


@DECISIONS
def test_the_same_lists_give_the_same_point(decision):
    one, other = (search(make_lines(2, decision)) for _ in range(2))
    np.testing.assert_array_equal(one.point, other.point)
    np.testing.assert_array_equal(one.held_out, other.held_out)
    assert one.error == other.error


@DECISIONS
def test_further_starts_are_tried(decision, monkeypatch):
    monkeypatch.setattr(module, "_PARTS", (0.0,))
    monkeypatch.setattr(module, "_SWEEPS", 0)  # so that each start is an end
    lines = make_lines(3, decision, models=(2.0,))
    start = np.array([1.0, 1.5, 0.5])
    assert search(lines).point[1] == 0
    np.testing.assert_array_equal(search(lines, [start]).point, start)
    not_allowed = np.array([-1.0, 1.5, 0.5])
    assert search(lines, [not_allowed]).point[1] == 0


@pytest.mark.parametrize("scale", [0.05, 3.0])
def test_a_given_scale_is_kept_and_its_points_alone_are_measured(scale, monkeypatch):
    lines = make_lines(4, "mbr", scale=scale, count=21)
    scales = []
    totals = Lines.totals

    def measure(self, points):
        scales.extend(self.columns.scale(points[self.columns.allowed(points)]))
        return totals(self, points)

    monkeypatch.setattr(Lines, "totals", measure)
    found = search(lines)
    assert lines.columns.scale(found.point) == pytest.approx(scale)
    assert lines.columns.scale(found.held_out) == pytest.approx([scale] * 5)
    assert scales == pytest.approx([scale] * len(scales))


@pytest.mark.parametrize("seed", range(3))
def test_no_other_scale_has_a_lower_smooth_error(seed):
    lines = make_lines(seed, "mbr", models=(1.0, 0.7))
    point = search(lines).point
    errors = errors_of(lines, point * module._FACTORS[:, None])
    smooth = kernel(np.log(module._FACTORS), WIDTH) @ errors
    assert smooth[len(smooth) // 2] == pytest.approx(smooth.min())


def test_the_scale_of_mbr_is_searched():
    # The first pass is very good, but its scores are close together: a large scale is needed.
    lines = make_lines(5, "mbr", models=(), first_pass=6.0, count=61)
    found = search(lines)
    scale = lines.columns.scale(found.point) * lines.columns.units[0]
    errors = errors_of(lines, [found.point * factor for factor in (0.01, 1.0)])
    assert errors[1] < errors[0]
    assert scale > 1


def test_each_group_gets_the_best_visited_point_of_the_others():
    visits = module._Visits(2)
    points = np.array([[1.0], [2.0], [3.0]])
    visits.add(points, np.array([[5.0, 7.0, 0.0], [4.0, 8.0, 0.0], [6.0, np.inf, 0.0]]))
    assert visits.points(points[2]).tolist() == [[2.0], [1.0]]
    visits.add(points[2:], np.array([[4.5, 6.0, 0.0]]))
    assert visits.points(points[2]).tolist() == [[2.0], [3.0]]
    assert module._Visits(1).points(points[2]).tolist() == [[3.0]]


@DECISIONS
def test_held_out_points_are_better_on_the_others_than_a_start(decision):
    lines = make_lines(6, decision, models=(1.5,), count=61)
    found = search(lines)
    assert found.held_out.shape == (5, 3)
    assert lines.columns.allowed(found.held_out).all()
    first_pass = lines.errors(lines.totals(np.array([[1.0, 0, 0]])))[0]
    for group, point in enumerate(found.held_out):
        assert lines.errors(lines.totals(point[None]))[0, group] < first_pass[group]
    assert len(np.unique(found.held_out, axis=0)) > 1  # the groups differ
