"""A function with the weights in it gives what it gave with the variables, in every shape."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import MASK_ID, VOCAB_SIZE, batch, tiny_model
from tta.modeling.objectives.objectives import objective_of
from tta.scoring.scorers.frozen import frozen

SIGNATURE = [tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None], tf.bool)]


class Pieces:
    mask_id = MASK_ID

    def __len__(self):
        return VOCAB_SIZE


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("model_type", ["tta", "bilm", "unilm"])
def test_frozen_scores_are_the_model_s(model_type, dtype):
    model = tiny_model(dtype, model_type=model_type)
    objective = objective_of(model_type, Pieces())

    def score(ids, mask):
        return objective.token_scores(model, {"input_ids": ids, "padding_mask": mask})

    compiled = frozen(score, SIGNATURE, model)
    tolerance = 1e-5 if dtype == "float32" else 0.1
    for lengths in ([3], [7, 5, 2]):
        ids, mask = batch(lengths).values()
        np.testing.assert_allclose(compiled(ids, mask), score(ids, mask), atol=tolerance)


@pytest.mark.parametrize("normalizer", ["exact", "learned"])
def test_later_changes_of_the_weights_do_not_reach_it(normalizer):
    model = tiny_model(model_type="tta", log_normalizer_weight=0.1)
    model.normalize_by(normalizer)
    ids, mask = batch([7, 5, 2]).values()

    def score(ids, mask):
        return model.log_probabilities({"input_ids": ids, "padding_mask": mask}, ids)

    before = score(ids, mask)
    compiled = frozen(score, SIGNATURE, model)
    for weight in model.trainable_variables:
        weight.assign(-weight)
        np.testing.assert_allclose(compiled(ids, mask), before, atol=1e-5, err_msg=weight.path)
    assert not np.allclose(score(ids, mask), before, atol=1e-2)
