"""The loss of MWER equals NumPy's, and its gradient equals finite differences."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import VOCAB_SIZE, Vocabulary, tiny_model
from tta.modeling.likelihood import likelihood_of
from tta.modeling.objectives.expected_errors import ExpectedErrors

pytestmark = pytest.mark.tensorflow

LENGTHS = (7, 5, 6, 4, 7, 3, 6)  # with begin and end
PLACES = (0, 1, 1, 5, 6, 7, 2)  # two sentences are parts of hypothesis 1 of list 0
LISTS, WIDTH = 2, 5


def some_lists(errors=None):
    """3 and 3 hypotheses in two lists of width 5."""
    rng = np.random.default_rng(0)
    shape = len(LENGTHS), max(LENGTHS)
    mask = np.arange(shape[1]) < np.array(LENGTHS)[:, None]
    inner = (np.arange(shape[1]) < np.array(LENGTHS)[:, None] - 1) & (np.arange(shape[1]) > 0)
    present = np.isin(np.arange(LISTS * WIDTH), PLACES).reshape(LISTS, WIDTH)
    some_errors = rng.integers(0, 6, present.shape) if errors is None else errors
    return SimpleNamespace(
        input_ids=np.where(mask, rng.integers(5, VOCAB_SIZE, shape), 0).astype(np.int32),
        padding_mask=mask,
        token_weights=(inner * rng.uniform(0.1, 0.4, (len(LENGTHS), 1))).astype(np.float32),
        places=np.array(PLACES, np.int32),
        other_scores=rng.normal(size=present.shape).astype(np.float32),
        errors=np.asarray(some_errors, np.float32),  # at padding, too: it must not count
        present=present,
    )


def numpy_loss(model, batch):
    """The loss of a T-TA in plain NumPy, one list at a time."""
    inputs = {"input_ids": batch.input_ids, "padding_mask": batch.padding_mask}
    logits = np.asarray(model(inputs)["logits"], np.float64)
    logs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    losses, expected = [], []
    for row in range(LISTS):
        scores, errors = [], []
        for h in np.flatnonzero(batch.present[row]):
            score = float(batch.other_scores[row, h])
            for b in np.flatnonzero(batch.places == row * WIDTH + h):
                for t, weight in enumerate(batch.token_weights[b]):
                    score += weight * logs[b, t, batch.input_ids[b, t]]
            scores.append(score)
            errors.append(batch.errors[row, h])
        p = np.exp(scores) / np.exp(scores).sum()
        expected.append(p @ errors)
        losses.append(p @ (np.array(errors) - np.mean(errors)))
    return np.mean(losses), np.mean(expected)


def loss_of(model, batch, normalizer="exact"):
    likelihood = likelihood_of(model.config.model_type, Vocabulary(), normalizer=normalizer)
    objective = ExpectedErrors(likelihood)
    task = objective.task({name: tf.constant(value) for name, value in vars(batch).items()}, 0)
    assert task.weights.shape == (LISTS,)
    tf.debugging.assert_equal(task.weights, 1.0)
    return objective.loss(model, task._replace(weights=task.weights / LISTS))


def gradients_of(model, batch, normalizer="exact"):
    with tf.GradientTape() as tape:
        total = loss_of(model, batch, normalizer).total
    variables = [variable.value for variable in model.trainable_variables]
    return tape.gradient(total, variables, unconnected_gradients=tf.UnconnectedGradients.ZERO)


def test_the_loss_equals_numpy():
    model, batch = tiny_model(), some_lists()
    loss, expected = numpy_loss(model, batch)
    found = loss_of(model, batch)
    np.testing.assert_allclose(found.total, loss, rtol=1e-4)
    np.testing.assert_allclose(found.parts["expected_errors"], expected, rtol=1e-5)


@pytest.mark.parametrize("normalizer", ["exact", "learned"])
@pytest.mark.parametrize("model_type", ["tta", "unilm"])
def test_the_gradient_equals_finite_differences(model_type, normalizer):
    model, batch = tiny_model(model_type=model_type), some_lists()
    gradients = gradients_of(model, batch, normalizer)
    total = tf.function(lambda: loss_of(model, batch, normalizer).total, autograph=False)
    rng, step = np.random.default_rng(0), 2e-3
    checked = 0
    for variable, gradient in zip(model.trainable_variables, gradients, strict=True):
        gradient, value = tf.convert_to_tensor(gradient).numpy(), variable.numpy()
        direction = gradient / max(np.linalg.norm(gradient), 1e-9)
        direction += rng.normal(size=value.shape) / np.sqrt(value.size)
        ends = []
        for sign in (1, -1):
            variable.assign(value + sign * step * direction)
            ends.append(float(total()))
        variable.assign(value)
        difference = (ends[0] - ends[1]) / (2 * step)
        expected = (gradient * direction).sum()
        np.testing.assert_allclose(
            difference, expected, rtol=0.05, atol=1e-3, err_msg=variable.path
        )
        checked += abs(expected) > 0.01
    assert checked > 10  # most weights matter


def test_a_list_of_one_hypothesis_has_the_weight_of_a_list():
    likelihood = likelihood_of("tta", Vocabulary())
    task = ExpectedErrors(likelihood).task({"errors": tf.constant([[3.0], [5.0]])}, 0)
    np.testing.assert_array_equal(task.weights, [1.0, 1.0])
