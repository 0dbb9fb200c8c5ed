"""The adaptive softmax: a distribution over all words, its loss and gradients, its clusters."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import randomize, tiny_config
from tta.errors import InputError
from tta.papers.semfit.config import ElmoConfig
from tta.papers.semfit.head_settings import AdaptiveSoftmaxSettings
from tta.papers.semfit.heads.adaptive_softmax import AdaptiveSoftmaxHead

pytestmark = pytest.mark.tensorflow

D, V = 8, 23
CUTOFFS = [(), (7,), (5, 9), (5, 6, 20)]
each_cutoffs = pytest.mark.parametrize("cutoffs", CUTOFFS)


def config(cutoffs, factor=2):
    return ElmoConfig(
        vocab_size=V,
        hidden_size=D,
        lstm_size=3,
        output_layer="adaptive_softmax",
        head=AdaptiveSoftmaxSettings(adaptive_cutoffs=cutoffs, adaptive_factor=factor),
    )


def make_head(cutoffs, factor=2, dtype="float32"):
    head = AdaptiveSoftmaxHead(config(cutoffs, factor), name="head", dtype=dtype)
    head.build((None, None, D))
    randomize({v.path: v for v in head.weights})
    return head


def make_task(seed=0, highest=V):
    rng = np.random.default_rng(seed)
    states = rng.normal(size=(3, 11, D)).astype(np.float32)
    targets = rng.integers(0, highest, (3, 11)).astype(np.int32)
    weights = rng.random((3, 11)) * (rng.random((3, 11)) < 0.7)
    return states, targets, weights.astype(np.float32)


def twin(head, row):
    """Log-probabilities of all words for one row, in float64, by the definition."""

    def softmax(x):
        return np.exp(x - x.max()) / np.exp(x - x.max()).sum()

    tables, biases, projections = (
        [np.asarray(v, np.float64) for v in values]
        for values in (head.tables, head.biases, head.projections)
    )
    first = softmax(tables[0] @ row + biases[0])
    c = len(first) - len(projections)
    parts = [first[:c]]
    for j, projection in enumerate(projections):
        parts.append(first[c + j] * softmax(tables[j + 1] @ (projection.T @ row) + biases[j + 1]))
    return np.log(np.concatenate(parts))


@each_cutoffs
def test_it_is_a_distribution_over_all_words(cutoffs):
    head, (states, _, _) = make_head(cutoffs), make_task()
    found = head(states).numpy()
    assert found.shape == (3, 11, V)
    np.testing.assert_allclose(np.exp(found).sum(axis=-1), 1.0, atol=1e-5)
    np.testing.assert_allclose(found[1, 2], twin(head, states[1, 2].astype(float)), atol=1e-5)


@each_cutoffs
def test_log_probabilities_are_those_of_the_definition(cutoffs):
    head, (states, targets, weights) = make_head(cutoffs), make_task()
    expected = np.take_along_axis(head(states).numpy(), targets[..., None], axis=-1)[..., 0]
    found = head.log_probabilities(states, None, targets)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    wanted = weights > 0
    found = head.log_probabilities(states, None, targets, wanted=wanted)
    np.testing.assert_allclose(found, np.where(wanted, expected, 0.0), atol=1e-5)


@each_cutoffs
def test_the_loss_and_its_gradients_are_those_of_the_definition(cutoffs):
    head, (states, targets, weights) = make_head(cutoffs), make_task()
    states = tf.constant(states)
    gradients = []
    for exact in (True, False):
        with tf.GradientTape() as tape:
            tape.watch(states)
            if exact:
                found = tf.gather(head(states), targets[..., None], batch_dims=2)[..., 0]
                loss = -tf.reduce_sum(weights * found)
            else:
                loss = head.loss(states, targets, weights)
        gradients.append([loss, *tape.gradient(loss, [states, *head.trainable_variables])])
    for exact, found in zip(*gradients, strict=True):
        np.testing.assert_allclose(
            tf.convert_to_tensor(found), tf.convert_to_tensor(exact), atol=2e-5
        )


def test_a_batch_without_a_word_of_a_cluster():
    head = make_head((5, 9))
    states, targets, weights = make_task(highest=5)  # frequent words alone
    loss = head.loss(states, targets, weights)
    expected = -np.sum(weights * head.log_probabilities(states, None, targets).numpy())
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    nothing = head.log_probabilities(states, None, targets, wanted=np.zeros((3, 11), bool))
    np.testing.assert_array_equal(nothing, 0.0)


def test_vectors_of_a_cluster_are_smaller_by_the_factor():
    head = make_head((5, 9, 15), factor=4)
    assert [table.shape[1] for table in head.tables] == [D, D // 4, 1, 1]


def test_bfloat16_products_give_float32_results_that_are_near():
    states, targets, weights = make_task()
    found = make_head((5, 9), dtype="mixed_bfloat16").loss(states, targets, weights)
    assert found.dtype == tf.float32
    np.testing.assert_allclose(found, make_head((5, 9)).loss(states, targets, weights), rtol=0.02)


@pytest.mark.parametrize("cutoffs", [(V,), (9, 5), (5, 5), (0,), (3, V + 1)])
def test_cutoffs_outside_of_the_vocabulary_or_out_of_order_are_refused(cutoffs):
    with pytest.raises(InputError, match="adaptive_cutoffs must rise and lie between 0 and "):
        config(cutoffs)


def test_other_families_have_none():
    with pytest.raises(InputError, match="adaptive_softmax needs model_type elmo, not tta"):
        tiny_config(output_layer="adaptive_softmax")


def test_a_factor_of_0_and_cutoffs_that_are_no_numbers_are_refused():
    with pytest.raises(InputError, match="adaptive_factor must be at least 1, not 0"):
        config((5,), 0)
    with pytest.raises(InputError, match="adaptive_cutoffs must be of type list of int, not "):
        config(("5",))
