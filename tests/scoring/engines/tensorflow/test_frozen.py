"""A function with constant weights returns what it returned with variables, for every shape."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import Vocabulary, batch, tiny_model
from tta.modeling.likelihood import likelihood_of
from tta.scoring.engines.tensorflow.frozen import FrozenFunctions, frozen

pytestmark = pytest.mark.tensorflow

SIGNATURE = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None], tf.bool)]


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("model_type", ["tta", "bilm", "unilm", "cloze"])
def test_frozen_scores_are_the_model_s(model_type, dtype):
    model = tiny_model(dtype, model_type=model_type)
    likelihood = likelihood_of(model_type, Vocabulary())

    def score(ids, mask, output_table=None):
        inputs = {"input_ids": ids, "padding_mask": mask}
        return likelihood.token_scores(model, inputs, output_table=output_table)

    compiled = frozen(score, SIGNATURE, model)
    tolerance = 1e-5 if dtype == "float32" else 0.1
    for lengths in ([3], [7, 5, 2]):
        ids, mask = batch(lengths).values()
        np.testing.assert_allclose(compiled(ids, mask), score(ids, mask), atol=tolerance)


@pytest.mark.parametrize("normalizer", ["exact", "learned"])
def test_later_changes_of_the_weights_do_not_reach_it(normalizer):
    model = tiny_model(model_type="tta", learned_normalizer=True)
    model.encoder.blocks[0].trainable = False  # frozen weights are constants, too
    ids, mask = batch([7, 5, 2]).values()

    def score(ids, mask, output_table=None):
        states = model.encode({"input_ids": ids, "padding_mask": mask})["hidden_states"]
        return model.log_probabilities(states, ids, None, normalizer, output_table)

    before = score(ids, mask)
    compiled = frozen(score, SIGNATURE, model)
    for weight in model.weights:
        weight.assign(-weight)
        np.testing.assert_allclose(compiled(ids, mask), before, atol=1e-5, err_msg=weight.path)
    assert not np.allclose(score(ids, mask), before, atol=1e-2)


def test_functions_are_compiled_once_and_read_the_weights_when_they_are_thawed():
    model, traced = tiny_model(), []
    functions = FrozenFunctions(model)

    def total(batch, weights, output_table, factor):
        traced.append(factor)
        return factor * tf.reduce_sum(model.weights[0].value)

    ids, mask = batch([3]).values()
    weights = np.ones((1, 3), bool)
    first = functions.get(total, 1.0)
    assert functions.get(total, 1.0) is first
    expected = first(ids, mask, weights)
    np.testing.assert_allclose(functions.get(total, 2.0)(ids, mask, weights), 2 * expected)
    functions.thaw()
    second = functions.get(total, 1.0)
    functions.thaw()
    assert functions.get(total, 1.0) is second
    for factor in (1.0, 3.0):
        model.weights[0].assign(model.weights[0] * factor)
        np.testing.assert_allclose(second(ids, mask, weights), factor * expected, rtol=1e-6)
    assert traced == [1.0, 2.0, 1.0]
