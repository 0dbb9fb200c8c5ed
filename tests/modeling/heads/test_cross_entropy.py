"""The softmax over the token table: values equal NumPy's, gradients those of the plain formula."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling import numpy_tta
from tta.modeling.functions.heads import log_softmax, target_logits
from tta.modeling.heads.cross_entropy import tied_cross_entropy
from tta.modeling.kits import keras as keras_kit
from tta.modeling.kits.keras import NUM_PARTS, KerasKit

pytestmark = pytest.mark.tensorflow

D, V = 5, 13
# Numbers of rows: fewer than the parts, equal, one more, and not a multiple.
ROWS = [1, 3, 7, NUM_PARTS, NUM_PARTS + 1, 37]


@pytest.fixture(autouse=True)
def parts_are_small(monkeypatch):
    monkeypatch.setattr(keras_kit, "PART_SIZE", 1)
    assert keras_kit.num_parts(V) == NUM_PARTS


def case(rows, dtype=np.float32):
    rng = np.random.default_rng(rows)
    return (
        tf.cast(rng.normal(0.0, 1.0, (rows, D)), dtype),
        tf.cast(rng.normal(0.0, 1.0, (V, D)), tf.float32),
        tf.cast(rng.normal(0.0, 1.0, V), tf.float32),
        tf.cast(rng.integers(0, V, rows), tf.int32),
        tf.cast(rng.random(rows) * (rng.random(rows) < 0.8), tf.float32),
    )


def log_probabilities(features, table, bias, targets, dtype="float32", output_table=None):
    kit, head = KerasKit(output_table=output_table), SimpleNamespace(compute_dtype=dtype)
    return log_softmax(kit, head, features, table, bias, targets, V)


def expected_log_probabilities(features, table, bias, targets):
    logits = features.numpy().astype(np.float64) @ table.numpy().T + bias.numpy()
    return np.take_along_axis(numpy_tta.log_softmax(logits), targets.numpy()[:, None], 1)[:, 0]


def plain_loss(features, table, bias, targets, weights):
    logits = tf.cast(features, tf.float32) @ tf.transpose(table) + bias
    return tf.reduce_sum(weights * tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))


def value_and_gradients(loss, features, table, bias, targets, weights):
    with tf.GradientTape() as tape:
        tape.watch([features, table, bias])
        # Multiplied by 3: the upstream gradient must be used.
        value = 3.0 * loss(features, table, bias, targets, weights)
    return value, tape.gradient(value, [features, table, bias])


@pytest.mark.parametrize("rows", ROWS)
def test_log_probabilities_equal_numpy(rows):
    features, table, bias, targets, _ = case(rows)
    found = log_probabilities(features, table, bias, targets)
    assert found.shape == (rows,)
    assert found.dtype == tf.float32
    expected = expected_log_probabilities(features, table, bias, targets)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_products_in_bfloat16_round_the_sum_but_not_the_logits_of_the_targets():
    features, table, bias, targets, _ = case(37)
    features = 4 * features  # logits of 10 and more, which bfloat16 rounds by up to 0.03
    rounded_table = tf.cast(table, tf.bfloat16)
    for copy in (None, rounded_table):
        found = log_probabilities(features, table, bias, targets, "bfloat16", copy).numpy()
        expected = expected_log_probabilities(features, table, bias, targets)
        np.testing.assert_allclose(found, expected, atol=0.15)
        likely = expected > np.log(0.9)
        assert likely.any()
        np.testing.assert_allclose(found[likely], expected[likely], atol=4e-3)
        assert (found <= 0.0).all()


def test_the_sum_makes_up_for_the_rounding_of_the_bias():
    features, table, bias, targets, _ = case(37)
    features, bias = 0 * features, 8 * bias  # which bfloat16 rounds by up to 0.03
    found = log_probabilities(features, table, bias, targets, "bfloat16")
    expected = expected_log_probabilities(features, table, bias, targets)
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("rows", ROWS)
def test_cross_entropy_and_its_gradients_equal_the_plain_formula(rows):
    features, table, bias, targets, weights = case(rows)
    value, gradients = value_and_gradients(
        tied_cross_entropy, features, table, bias, targets, weights
    )
    expected = -3.0 * np.sum(weights * expected_log_probabilities(features, table, bias, targets))
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    _, plain = value_and_gradients(plain_loss, features, table, bias, targets, weights)
    for found, wanted in zip(gradients, plain, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("rows", ROWS)
def test_a_penalty_adds_the_squared_log_normalizer_and_its_gradients(rows):
    def penalized(features, table, bias, targets, weights):
        return tied_cross_entropy(features, table, bias, targets, weights, 0.7)

    def plain(features, table, bias, targets, weights):
        logits = features @ tf.transpose(table) + bias
        square = tf.reduce_logsumexp(logits, axis=-1) ** 2
        return plain_loss(features, table, bias, targets, weights) + 0.7 * tf.reduce_sum(
            weights * square
        )

    arguments = case(rows)
    value, gradients = value_and_gradients(penalized, *arguments)
    expected, wanted = value_and_gradients(plain, *arguments)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for one, other in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_logits_at_the_targets_equal_numpy():
    features, table, bias, targets, _ = case(37)
    logits = features.numpy() @ table.numpy().T + bias.numpy()
    expected = np.take_along_axis(logits, targets.numpy()[:, None], 1)[:, 0]
    found = target_logits(KerasKit(), features, table, bias, targets)
    assert found.dtype == tf.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)
    rounded = target_logits(KerasKit(), tf.cast(features, tf.bfloat16), table, bias, targets)
    np.testing.assert_allclose(rounded, expected, atol=0.1)


def test_gradients_in_bfloat16_are_near_those_in_float32():
    features, table, bias, targets, weights = case(37, tf.bfloat16)
    value, gradients = value_and_gradients(
        tied_cross_entropy, features, table, bias, targets, weights
    )
    expected, plain = value_and_gradients(plain_loss, features, table, bias, targets, weights)
    np.testing.assert_allclose(value, expected, rtol=1e-2)
    assert [g.dtype for g in gradients] == [tf.bfloat16, tf.float32, tf.float32]
    for found, wanted in zip(gradients, plain, strict=True):
        np.testing.assert_allclose(
            tf.cast(found, tf.float32), tf.cast(wanted, tf.float32), atol=0.15
        )


def test_logits_of_a_thousand_neither_overflow_nor_vanish():
    features, table, bias, targets, weights = case(7)
    value, gradients = value_and_gradients(
        tied_cross_entropy, 1e3 * features, table, bias, targets, weights
    )
    expected, plain = value_and_gradients(plain_loss, 1e3 * features, table, bias, targets, weights)
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    for found, wanted in zip(gradients, plain, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_unknown_dimensions_and_variables_in_a_graph():
    features, table, bias, targets, weights = case(11)
    table_variable, bias_variable = tf.Variable(table), tf.Variable(bias)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, D]),
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None]),
        ]
    )
    def graph(features, targets, weights):
        with tf.GradientTape() as tape:
            tape.watch(features)
            loss = tied_cross_entropy(features, table_variable, bias_variable, targets, weights)
        scores = log_probabilities(features, table_variable, bias, targets)
        return scores, loss, tape.gradient(loss, [features, table_variable, bias_variable])

    for rows in (1, 3, 11):
        part = features[:rows], table, bias, targets[:rows], weights[:rows]
        scores, loss, gradients = graph(part[0], part[3], part[4])
        expected = expected_log_probabilities(*part[:4])
        np.testing.assert_allclose(scores, expected, atol=1e-5)
        value, plain = value_and_gradients(plain_loss, *part)
        np.testing.assert_allclose(3.0 * loss, value, rtol=1e-5)
        for found, wanted in zip(gradients, plain, strict=True):
            np.testing.assert_allclose(3.0 * found, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("num_pieces", "expected"), [(1, 1), (1023, 1), (2047, 1), (2048, 2), (8192, 8), (1 << 20, 8)]
)
def test_few_pieces_are_few_parts(num_pieces, expected, monkeypatch):
    monkeypatch.undo()
    assert keras_kit.num_parts(num_pieces) == expected
    parts = KerasKit().parts(num_pieces)
    assert len(parts) == expected
    assert [i for part in parts for i in range(*part)] == list(range(num_pieces))
