import dataclasses

import numpy as np
import pytest

from tests.scoring.combining.random_lists import WER, make
from tta.scoring.combining.columns import Columns
from tta.scoring.combining.decision import decide
from tta.scoring.combining.line_search import STEPS, WIDTH, Lines, kernel
from tta.scoring.combining.weights import GivenWeights
from tta.scoring.metrics.bleu import Bleu

METRICS = pytest.mark.parametrize("metric", [WER, Bleu("none")], ids=lambda metric: metric.name)


def make_lines(seed, decision="max", scale=None, metric=WER, **options):
    made = make(seed, features=(0.5,), empty=True, metric=metric, **options)
    columns = Columns.build(made.lists, GivenWeights(features={"f0": None}), "sum")
    groups = np.arange(len(made.nbest)) % 3
    return Lines(made.lists, made.statistics, columns, groups, decision, scale)


def picked_totals(lines, point):
    """The statistics of the hypotheses with the highest scores, by group, in a plain loop."""
    totals = np.zeros([lines.num_groups, lines.statistics.counts.shape[-1]], int)
    for i, one in enumerate(lines.lists.nbest):
        scores = [float(lines.columns.values[i, j] @ point) for j in range(len(one.hypotheses))]
        pick = scores.index(max(scores)) if scores else 0
        totals[lines.groups[i]] += lines.statistics.counts[i, pick]
    return totals


@pytest.mark.parametrize("seed", range(5))
def test_the_line_of_max_is_exact(seed):
    lines = make_lines(seed)
    random = np.random.default_rng(seed)
    point, direction = random.normal(0, 1, [2, 4])
    places, totals = lines._pieces(point, direction)
    assert len(totals) == len(places) + 1 > 30
    assert np.all(np.diff(places) >= 0)

    middles = (places[1:] + places[:-1])[np.diff(places) > 1e-9] / 2
    ends = [places[0] - 1, places[0] - 1e4, places[-1] + 1, places[-1] + 1e4]
    for step in [*middles, *ends, *random.normal(0, 2, 500)]:
        piece = np.searchsorted(places, step)
        expected = picked_totals(lines, point + step * direction)
        np.testing.assert_array_equal(totals[piece], expected)


def test_lines_that_all_meet_in_one_place():
    # They meet at 1/3, but for rounding errors, whose order must not matter.
    lines = make_lines(7, count=101)
    slopes = np.random.default_rng(0).normal(0, 1, lines.lists.present.shape)
    values = np.stack([-slopes / 3, slopes], axis=-1)
    columns = dataclasses.replace(lines.columns, values=values)
    lines = dataclasses.replace(lines, columns=columns, groups=np.arange(101))
    point, direction = np.eye(2)
    places, totals = lines._pieces(point, direction)
    np.testing.assert_allclose(places, 1 / 3)
    for found, step in [(totals[0], 0.3), (totals[-1], 0.4)]:
        np.testing.assert_array_equal(found, picked_totals(lines, point + step * direction))
    for found in totals:  # always those of one hypothesis of each list
        assert (found[:, None] == lines.statistics.counts).all(axis=2).any(axis=1).all()


def test_a_line_without_changes_has_one_piece():
    lines = make_lines(1)
    places, totals = lines._pieces(np.array([1.0, 0.5, 0, 0]), np.zeros(4))
    assert len(places) == 0
    np.testing.assert_array_equal(totals, [picked_totals(lines, [1.0, 0.5, 0, 0])])
    errors = lines.along(np.array([1.0, 0.5, 0, 0]), np.zeros(4))
    np.testing.assert_array_equal(errors, errors[:1].repeat(len(STEPS), axis=0))


@METRICS
def test_the_smooth_error_of_max_is_an_integral(metric):
    lines = make_lines(2, metric=metric)
    point, direction = np.array([1.0, 0.5, 0.2, 0.1]), np.array([0.0, 1.1, 0.0, 0.0])
    width = 0.001
    steps = np.arange(-5.0, 5.0, width)
    errors = lines.errors(lines.totals(point + steps[:, None] * direction))
    gauss = np.exp(-0.5 * ((steps - STEPS[:, None]) / WIDTH) ** 2)
    expected = gauss @ errors * width / (WIDTH * np.sqrt(2 * np.pi))
    found = lines.along(point, direction)
    assert found.shape == (len(STEPS), 4)
    np.testing.assert_allclose(found, expected, atol=0.02)
    assert np.ptp(found, axis=0).min() > 2  # it is no constant


def test_the_kernel_is_a_gaussian_on_uneven_steps():
    steps = np.concatenate([np.arange(-1, 0, 0.01), np.arange(0, 1, 0.02)])
    weights = kernel(steps, 0.1)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    inside = np.abs(steps) < 0.5
    for function, expected in [(steps, steps), (steps**2, steps**2 + 0.1**2)]:
        np.testing.assert_allclose((weights @ function)[inside], expected[inside], atol=2e-3)


def test_the_smooth_error_of_mbr_averages_its_neighbours():
    lines = make_lines(3, "mbr")
    point, direction = np.array([1.0, 0.5, 0.2, 0.1]), np.array([0.0, 1.1, 0.0, 0.0])
    errors = lines.errors(lines.totals(point + STEPS[:, None] * direction))
    gauss = np.exp(-0.5 * ((STEPS - STEPS[:, None]) / WIDTH) ** 2) * np.gradient(STEPS)
    expected = gauss @ errors / gauss.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(lines.along(point, direction), expected, atol=1e-8)


@METRICS
@pytest.mark.parametrize("decision", ["max", "mbr"])
def test_points_are_measured_by_what_would_be_picked(decision, metric):
    # Empty lists count for both decisions: all words of their references are deleted.
    lines = make_lines(4, decision, metric=metric, count=41)
    assert not lines.lists.present.any(axis=1).all()
    random = np.random.default_rng(0)
    points = random.uniform(0.1, 2, [40, 4]) * [1, 1, *random.choice([-1, 1], 2)]  # two chunks
    totals = lines.totals(points)
    assert totals.shape[:2] == (40, 3)
    for point, found in zip(points, totals, strict=True):
        picks = decide(lines.lists, lines.columns.weights(point, decision)).picks
        statistics = lines.statistics.of(picks)
        for group in range(3):
            expected = statistics[lines.groups == group].sum(axis=0)
            np.testing.assert_array_equal(found[group], expected)


@METRICS
def test_errors_are_those_of_all_lists_but_a_group_and_of_all(metric):
    lines = make_lines(5, metric=metric)
    totals = lines.totals(np.eye(4)[:2])
    expected = [
        [lines.statistics.error(np.delete(one, g, axis=0).sum(axis=0)) for g in range(3)]
        + [lines.statistics.error(one.sum(axis=0))]
        for one in totals
    ]
    np.testing.assert_allclose(lines.errors(totals), expected)


def test_a_given_scale_is_that_of_all_points_of_a_line(monkeypatch):
    lines = make_lines(6, "mbr", scale=2.0)
    measured = []
    totals = Lines.totals
    monkeypatch.setattr(
        Lines, "totals", lambda self, points: measured.append(points) or totals(self, points)
    )
    lines.along(np.array([1.0, 0.5, 0.0, 0.0]), np.array([0.0, 0.1, 0.0, 0.0]))
    (points,) = measured
    np.testing.assert_allclose(lines.columns.scale(points), 2.0)
    free = make_lines(6, "mbr")
    np.testing.assert_array_equal(free.rescaled(points), points)
