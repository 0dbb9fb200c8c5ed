import numpy as np
import pytest

from tta.errors import InputError
from tta.scoring.metrics.correlation import correlate, cosine


def test_cosine_is_a_plain_loop():
    random = np.random.default_rng(0)
    first, second = random.normal(size=(2, 11, 7)).astype(np.float32)
    expected = [
        sum(float(x) * float(y) for x, y in zip(a, b, strict=True))
        / sum(float(x) ** 2 for x in a) ** 0.5
        / sum(float(y) ** 2 for y in b) ** 0.5
        for a, b in zip(first, second, strict=True)
    ]
    similarities = cosine(first, second)
    assert similarities.dtype == np.float64
    np.testing.assert_allclose(similarities, expected, rtol=1e-13)


@pytest.mark.parametrize("bad", [[np.nan, 1.0], [np.inf, 1.0]])
def test_a_vector_that_is_not_finite_is_an_error(bad):
    vectors = np.ones([3, 2], np.float32)
    broken = vectors.copy()
    broken[1] = bad
    for pair in (vectors, broken), (broken, vectors):
        with pytest.raises(InputError, match=r"pair 2: .* not defined, a vector is not finite"):
            cosine(*pair)


def test_a_zero_vector_has_cosine_0():
    vectors, broken = np.ones([3, 2], np.float32), np.ones([3, 2], np.float32)
    broken[1] = 0
    for pair in (vectors, broken), (broken, vectors), (broken, broken):
        np.testing.assert_allclose(cosine(*pair), [1, 0, 1])


def test_correlations_in_closed_form():
    # Ranks agree but for one swap: rho = 1 - 6 * (1 + 1) / (5 * 24) = .9. Pearson by hand.
    similarities, gold = [0.0, 1.0, 2.0, 4.0, 3.0], [0.0, 1.0, 2.0, 3.0, 4.0]
    correlation = correlate(similarities, gold)
    assert correlation.spearman == pytest.approx(90)
    assert correlation.pearson == pytest.approx(90)
    squared = correlate(np.square(gold), gold)
    assert squared.spearman == pytest.approx(100)  # any rising curve
    assert squared.pearson == pytest.approx(100 * 40 / np.sqrt(10 * 174))
    assert correlate([-x for x in similarities], gold).pearson == pytest.approx(-90)


@pytest.mark.parametrize(
    ("similarities", "gold", "rule"),
    [
        ([], [], "at least two pairs, got 0"),
        ([0.5], [1.0], "at least two pairs, got 1"),
        ([0.5, 0.5], [1.0, 2.0], "not defined: all similarities are 0.5"),
        ([0.5, 0.7], [1.0, 1.0], "all gold scores are 1"),
        ([-0.0, -0.0], [1.0, 2.0], "all similarities are 0$"),
        # These similarities differ by a rounding error.
        ([0.9, np.nextafter(0.9, 1)], [1.0, 2.0], "the correlation is not defined"),
    ],
)
def test_a_correlation_that_is_not_defined_is_an_error(similarities, gold, rule):
    with pytest.raises(InputError, match=rule):
        correlate(similarities, gold)
