"""The objective of classifiers: what the model is given, and what is measured."""

import numpy as np
import pytest

from tests.modeling.objectives.test_tasks import LENGTHS
from tests.modeling.tiny import batch
from tta.papers.glue.objective import Classification

pytestmark = pytest.mark.tensorflow


def test_the_target_of_a_classifier_is_not_among_its_inputs():
    given = batch(LENGTHS) | {"target": np.array([2, 0, 1, 1], np.float32)}
    inputs, targets, weights, _ = Classification().task(given, 0)
    assert inputs.keys() == {"input_ids", "padding_mask"}
    np.testing.assert_array_equal(targets, given["target"])
    np.testing.assert_array_equal(weights, [1, 1, 1, 1])


def test_a_value_is_its_sum_over_its_count():
    measured = {"loss": (np.array([2.0, 7.0]), np.array([1.0, 3.0]))}
    assert Classification().summarize(measured) == {"loss": 2.25}
