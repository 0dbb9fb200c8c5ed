"""The tied softmax: values against NumPy, gradients against those of the plain formula."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling import numpy_tta
from tests.modeling.tiny import randomize
from tta.modeling.heads.cross_entropy import (
    CONTRAST_TEMPERATURE,
    NUM_PARTS,
    contrast,
    decorrelation,
    tied_cross_entropy,
    tied_log_probabilities,
    tied_logits,
)
from tta.modeling.heads.sampled_softmax import PieceSampler
from tta.modeling.heads.tied_softmax import TiedSoftmaxHead

D, V = 5, 13
# Rows: fewer than the parts, as many, one more, and not a multiple of them.
ROWS = [1, 3, 7, NUM_PARTS, NUM_PARTS + 1, 37]


def case(rows, dtype=np.float32):
    rng = np.random.default_rng(rows)
    return (
        tf.cast(rng.normal(0.0, 1.0, (rows, D)), dtype),
        tf.cast(rng.normal(0.0, 1.0, (V, D)), tf.float32),
        tf.cast(rng.normal(0.0, 1.0, V), tf.float32),
        tf.cast(rng.integers(0, V, rows), tf.int32),
        tf.cast(rng.random(rows) * (rng.random(rows) < 0.8), tf.float32),
    )


def expected_log_probabilities(features, table, bias, targets):
    logits = features.numpy().astype(np.float64) @ table.numpy().T + bias.numpy()
    return np.take_along_axis(numpy_tta.log_softmax(logits), targets.numpy()[:, None], 1)[:, 0]


def plain_loss(features, table, bias, targets, weights):
    logits = tf.cast(features, tf.float32) @ tf.transpose(table) + bias
    return tf.reduce_sum(weights * tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))


def value_and_gradients(loss, features, table, bias, targets, weights):
    with tf.GradientTape() as tape:
        tape.watch([features, table, bias])
        # Three times: the upstream gradient has to be passed on.
        value = 3.0 * loss(features, table, bias, targets, weights)
    return value, tape.gradient(value, [features, table, bias])


@pytest.mark.parametrize("rows", ROWS)
def test_log_probabilities_equal_numpy(rows):
    features, table, bias, targets, _ = case(rows)
    found = tied_log_probabilities(features, table, bias, targets)
    assert found.shape == (rows,)
    assert found.dtype == tf.float32
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
def test_a_log_normalizer_weight_adds_its_square_and_gradients(rows):
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
    found = tied_logits(features, table, bias, targets)
    assert found.dtype == tf.float32
    np.testing.assert_allclose(found, expected, atol=1e-5)
    rounded = tied_logits(tf.cast(features, tf.bfloat16), table, bias, targets)
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


def test_rows_of_weight_zero_count_for_nothing():
    features, table, bias, targets, _ = case(7)
    weights = tf.constant([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    keep = [0, 2, 3]
    one = value_and_gradients(tied_cross_entropy, features, table, bias, targets, weights)
    other = value_and_gradients(
        tied_cross_entropy,
        tf.gather(features, keep),
        table,
        bias,
        tf.gather(targets, keep),
        tf.ones(3),
    )
    np.testing.assert_allclose(one[0], other[0], rtol=1e-6)
    np.testing.assert_array_equal(one[1][0].numpy()[[1, 4, 5, 6]], 0.0)
    np.testing.assert_allclose(one[1][1], other[1][1], atol=1e-6)


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
        scores = tied_log_probabilities(features, table_variable, bias, targets)
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


def test_head_equals_its_equation():
    head = TiedSoftmaxHead(V, name="head")
    head.build((None, None, D))
    randomize({v.path: v for v in head.weights})
    weights = {v.path: np.asarray(v, np.float64) for v in head.weights}
    rng = np.random.default_rng(0)
    states = rng.normal(0.0, 1.0, (2, 7, D)).astype(np.float32)
    table = rng.normal(0.0, 1.0, (V, D)).astype(np.float32)
    weights["encoder/embeddings/token_table"] = table
    expected = numpy_tta.logits(weights, states.astype(np.float64))
    np.testing.assert_allclose(np.asarray(head(states, table)), expected, atol=1e-5)


@pytest.mark.parametrize("normalizer", ["exact", "learned"])
def test_what_is_not_wanted_is_not_computed(normalizer):
    head = TiedSoftmaxHead(V)
    head.build((None, None, D))
    randomize({v.path: v for v in head.trainable_variables})
    rng = np.random.default_rng(0)
    hidden_states, table = rng.normal(size=(3, 4, D)), rng.normal(size=(V, D))
    hidden_states, table = hidden_states.astype(np.float32), table.astype(np.float32)
    targets = rng.integers(0, V, (3, 4), dtype=np.int32)
    everything = head.log_probabilities(hidden_states, table, targets, normalizer)
    wanted = rng.random((3, 4)) < 0.5
    hidden_states[~wanted] = np.nan  # it would show
    found = head.log_probabilities(hidden_states, table, targets, normalizer, wanted)
    np.testing.assert_allclose(found, np.where(wanted, everything, 0.0), atol=1e-5)
    nothing = head.log_probabilities(hidden_states, table, targets, normalizer, wanted & False)
    np.testing.assert_array_equal(nothing, np.zeros((3, 4)))


def test_the_rows_of_the_head_are_few_more_than_are_wanted_and_of_few_numbers(monkeypatch):
    head, counts = TiedSoftmaxHead(V), []
    head.build((None, None, D))
    transform = head.transform
    monkeypatch.setattr(head, "transform", lambda x: counts.append(x.shape[0]) or transform(x))
    hidden_states, table = np.ones((5, 9, D), np.float32), np.ones((V, D), np.float32)
    targets = np.zeros((5, 9), np.int32)
    for num_wanted in range(46):
        wanted = np.random.default_rng(0).permutation(45).reshape(5, 9) < num_wanted
        head.log_probabilities(hidden_states, table, targets, "exact", wanted)
    assert counts == [0] + [16] * 16 + [32] * 16 + [45] * 13


@pytest.mark.parametrize("sampled", [False, True])
def test_what_is_no_target_is_not_computed_in_training(sampled):
    sampler = PieceSampler(np.arange(V), 3) if sampled else None
    head = TiedSoftmaxHead(V, sampler=sampler)
    head.build((None, None, D))
    rng = np.random.default_rng(0)
    hidden_states = rng.normal(size=(3, 4, D)).astype(np.float32)
    table = tf.constant(rng.normal(size=(V, D)).astype(np.float32))
    targets = rng.integers(0, V, (3, 4), dtype=np.int32)
    weights = (rng.random((3, 4)) < 0.5).astype(np.float32)
    hidden_states[weights == 0] = np.nan  # it would show
    hidden_states = tf.constant(hidden_states)
    with tf.GradientTape() as tape:
        tape.watch([hidden_states, table])
        loss = head.cross_entropy(hidden_states, table, targets, weights)
    of_states, of_table = tape.gradient(loss, [hidden_states, table])
    of_states = tf.convert_to_tensor(of_states).numpy()
    assert np.isfinite(loss)
    assert np.isfinite(of_states).all()
    assert np.isfinite(of_table).all()
    np.testing.assert_array_equal(np.abs(of_states).sum(-1) > 0, weights > 0)


def test_decorrelation_equals_numpy_and_leaves_out_rows_without_weight():
    rng = np.random.default_rng(0)
    vectors, weights = rng.normal(size=(50, D)) + 1.0, rng.random(50)
    weights[::3] = 0.0
    moments = np.einsum("m,mi,mj->ij", weights / weights.sum(), vectors, vectors)
    found = decorrelation(vectors.astype(np.float32), weights.astype(np.float32))
    np.testing.assert_allclose(found, np.square(moments - np.eye(D)).sum() / D, rtol=1e-5)
    assert decorrelation(vectors.astype(np.float32), np.zeros(50, np.float32)) == 1.0


def test_decorrelation_of_whitened_vectors_is_zero():
    vectors = np.linalg.qr(np.random.default_rng(0).normal(size=(50, D)))[0] * 50**0.5
    found = decorrelation(vectors.astype(np.float32), np.ones(50, np.float32))
    np.testing.assert_allclose(found, 0.0, atol=1e-6)


def numpy_contrast(vectors, weights):
    """`contrast` in plain NumPy, one sentence and one half at a time."""
    pairs = []
    for sentence, counts in zip(vectors, weights, strict=True):
        is_first = np.cumsum(counts) <= counts.sum() / 2
        halves = [(counts[part][:, None] * sentence[part]).sum(0) for part in (is_first, ~is_first)]
        if all(counts[part].sum() > 0 for part in (is_first, ~is_first)):
            pairs.append([half / np.linalg.norm(half) for half in halves])
    losses = []
    for i, (first, second) in enumerate(pairs):
        for half, others in ((first, [b for _, b in pairs]), (second, [a for a, _ in pairs])):
            logits = np.array([half @ other for other in others]) / CONTRAST_TEMPERATURE
            losses.append(np.log(np.exp(logits).sum()) - logits[i])
    return np.mean(losses) if losses else 0.0


def some_sentences():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(6, 9, D)) + rng.normal(size=(6, 1, D))
    weights = rng.random((6, 9)).round(2)
    weights[1, 5:] = 0.0  # shorter
    weights[2, 1:] = 0.0  # one token: no second half
    weights[3] = 0.0
    return vectors.astype(np.float32), weights.astype(np.float32)


@pytest.mark.parametrize("sentences", [slice(None), slice(0, 1), slice(2, 4), slice(2, 2)])
def test_contrast_equals_numpy(sentences):
    vectors, weights = (array[sentences] for array in some_sentences())
    found = contrast(vectors, weights)
    np.testing.assert_allclose(found, numpy_contrast(vectors, weights), rtol=1e-5, atol=1e-6)


def test_contrast_of_alike_halves_is_near_zero_and_of_swapped_ones_is_not():
    sentences = 5.0 * np.eye(D, dtype=np.float32)[:4]
    vectors = np.repeat(sentences[:, None], 6, axis=1)
    weights = np.ones((4, 6), np.float32)
    assert contrast(vectors, weights) < 1e-3
    vectors[:, 3:] = vectors[::-1, 3:]
    assert contrast(vectors, weights) > 5.0


def test_contrast_has_finite_gradients_and_none_where_nothing_counts():
    vectors, weights = some_sentences()
    vectors = tf.constant(vectors)
    with tf.GradientTape() as tape:
        tape.watch(vectors)
        loss = contrast(vectors, weights)
    gradient = tape.gradient(loss, vectors).numpy()
    assert np.isfinite(gradient).all()
    counts = weights > 0
    counts[2] = False
    np.testing.assert_array_equal(np.abs(gradient).sum(-1) > 0, counts)
