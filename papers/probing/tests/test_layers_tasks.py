"""The layers of a task's model: the CRF against all sequences; LSTM, poolings against NumPy."""

from itertools import product

import numpy as np
import pytest
import tensorflow as tf
from scipy.special import logsumexp, softmax

from tests.modeling.tiny import randomize
from tta.papers.glue.task_layers import (
    LinearChainCRF,
    MixedLSTM,
    compared,
    maximum,
    weighted_mean,
)

pytestmark = pytest.mark.tensorflow

K, T = 3, 5
LENGTHS = (5, 1, 2, 4)
MASK = np.arange(T) < np.array(LENGTHS)[:, None]


@pytest.fixture
def crf():
    layer = LinearChainCRF(K)
    layer.build()
    randomize({v.path: v for v in layer.weights})
    return layer


def emissions(seed=1):
    return np.random.default_rng(seed).normal(0, 1, (len(LENGTHS), T, K)).astype(np.float32)


def score(layer, emitted, tags):
    """The score of a sequence, term by term."""
    moves, ends = layer.transitions.numpy(), layer.ends.numpy()
    value, before = 0.0, K
    for row, tag in zip(emitted, tags, strict=True):
        value += moves[before, tag] + row[tag]
        before = tag
    return value + ends[before]


def test_the_crf_is_the_sum_over_all_sequences(crf):
    emitted = emissions()
    for one, length, total in zip(emitted, LENGTHS, crf(emitted, MASK).numpy(), strict=True):
        scores = [score(crf, one[:length], tags) for tags in product(range(K), repeat=length)]
        np.testing.assert_allclose(total, logsumexp(scores), rtol=1e-5)


def test_the_likelihoods_of_all_sequences_sum_to_1_whatever_stands_in_the_padding(crf):
    emitted, row = emissions(), 2
    sequences = np.array(list(product(range(K), repeat=LENGTHS[row])))
    total = 0.0
    for tags in sequences:
        padded = np.full((len(LENGTHS), T), 2, np.int32)
        padded[row, : LENGTHS[row]] = tags
        found = crf.log_likelihood(emitted, padded, MASK).numpy()[row]
        expected = score(crf, emitted[row, : LENGTHS[row]], tags) - crf(emitted, MASK)[row]
        np.testing.assert_allclose(found, expected, atol=1e-5)
        total += np.exp(found)
    np.testing.assert_allclose(total, 1.0, rtol=1e-5)


@pytest.mark.parametrize("in_graph", [False, True])
def test_the_best_tags_are_those_of_the_highest_score(crf, in_graph):
    find = crf.best_tags
    if in_graph:  # with unknown sizes
        signature = [tf.TensorSpec([None, None, K]), tf.TensorSpec([None, None], tf.bool)]
        find = tf.function(find, input_signature=signature, autograph=False)
    for seed in range(5):
        emitted = emissions(seed)
        found = np.array(find(emitted, MASK))
        for one, length, tags in zip(emitted, LENGTHS, found, strict=True):
            sequences = list(product(range(K), repeat=length))
            best = max(sequences, key=lambda tags, x=one[:length]: score(crf, x, tags))
            assert tuple(tags[:length]) == best


def lstm_twin(x, kernel, recurrent, bias):
    """[T, size] -> [T, U]."""
    units = recurrent.shape[0]
    h, c, outputs = np.zeros(units), np.zeros(units), []
    for one in x:
        i, f, g, o = np.split(one @ kernel + h @ recurrent + bias, 4)
        sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.array(outputs)


def test_the_lstm_reads_the_mix_of_the_layers_in_both_directions():
    num_layers, size, units = 2, 7, 11
    layer = MixedLSTM(num_layers, units)
    layer.build((None, None, num_layers * size))
    randomize({v.path: v for v in layer.weights})
    layers = np.random.default_rng(0).normal(size=(len(LENGTHS), T, num_layers * size))
    layers = layers.astype(np.float32)
    found = np.array(layer(layers, MASK))
    shares = softmax(layer.mix.weights_of_layers.numpy())
    mixed = layer.mix.gamma.numpy() * (shares @ layers.reshape(len(LENGTHS), T, num_layers, size))
    forward, backward = (
        [v.numpy() for v in one.weights]
        for one in (layer.lstm.forward_layer, layer.lstm.backward_layer)
    )
    for row, length in enumerate(LENGTHS):
        real = mixed[row, :length]
        expected = [lstm_twin(real, *forward), lstm_twin(real[::-1], *backward)[::-1]]
        np.testing.assert_allclose(found[row, :length], np.hstack(expected), atol=1e-5)
    train = np.array(layer(layers, MASK, training=True))
    assert np.abs(train - found).max() > 0.1  # dropout


def test_poolings():
    states = np.arange(24, dtype=np.float32).reshape(2, 4, 3) - 99  # the masked ones are larger
    mask = np.array([[True, True, False, False], [False] * 4])
    np.testing.assert_array_equal(maximum(states, mask), [states[0, 1], [0, 0, 0]])
    weights = np.array([[1, 3, 0, 0], [0] * 4], np.float32)
    expected = [(states[0, 0] + 3 * states[0, 1]) / 4, [0, 0, 0]]
    np.testing.assert_allclose(weighted_mean(states, weights), expected)
    u, v = states[:, 0], states[:, 1] + 7
    np.testing.assert_allclose(compared([u, v]), np.hstack([u, v, abs(u - v), u * v]))
    assert compared([u]) is u
