"""ProjectedLSTM against Keras's LSTM and a NumPy twin; reversed sentences; the scalar mix."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import randomize
from tta.papers.glue.task_layers import ScalarMix
from tta.papers.semfit.lstm import ProjectedLSTM, reverse_sentences

pytestmark = pytest.mark.tensorflow

B, T, SIZE, UNITS, PROJECTION = 2, 7, 5, 11, 3


def inputs(networks, scale=1.0):
    return np.random.default_rng(1).normal(0, scale, (B, T, networks, SIZE)).astype(np.float32)


def built(*arguments, seed=0, **options):
    layer = ProjectedLSTM(*arguments, **options)
    layer.build((None, None, layer.num_networks, SIZE))
    randomize({v.path: v for v in layer.weights}, seed)
    return layer


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def twin(layer, x, network):
    """The layer's network number `network` alone, step by step: [B, T, size] -> [B, T, P]."""
    kernel, recurrent, bias = (
        getattr(layer, name)[network].numpy().astype(float)
        for name in ("kernels", "recurrent_kernels", "biases")
    )
    h, c, outputs = np.zeros((B, layer.output_size)), np.zeros((B, layer.units)), []
    for t in range(T):
        i, f, g, o = np.split(x[:, t] @ kernel + h @ recurrent + bias, 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        if layer.cell_clip:
            c = np.clip(c, -layer.cell_clip, layer.cell_clip)
        h = sigmoid(o) * np.tanh(c)
        if layer.projection:
            h = h @ layer.projections[network].numpy()
            if layer.projection_clip:
                h = np.clip(h, -layer.projection_clip, layer.projection_clip)
        if layer.use_layer_norm:
            gamma, beta = (v.numpy() for v in layer.norms[network].weights)
            h = h - h.mean(-1, keepdims=True)
            h = h / np.sqrt(h.var(-1, keepdims=True) + 1e-12) * gamma + beta
        outputs.append(h)
    return np.stack(outputs, axis=1)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cell_clip": 0.3},
        {"projection_clip": 0.2},
        {"use_layer_norm": True},
        {"use_layer_norm": True, "cell_clip": 0.3, "projection_clip": 0.2},
    ],
)
def test_each_network_is_the_numpy_twin(options):
    layer, x = built(UNITS, PROJECTION, 2, **options), inputs(2)
    found = layer(x).numpy()
    for network in range(2):
        expected = twin(layer, x[:, :, network].astype(float), network)
        np.testing.assert_allclose(found[:, :, network], expected, atol=2e-5)


def test_the_forget_gate_begins_open_and_the_biases_at_zero():
    layer = ProjectedLSTM(UNITS)
    layer.build((None, None, 1, SIZE))
    i, f, g, o = np.split(layer.biases[0].numpy(), 4)
    assert (f == 1).all()
    assert not np.concatenate([i, g, o]).any()


def test_gradients_reach_every_weight_and_bfloat16_is_near_float32():
    layer, x = built(UNITS, PROJECTION, 2, use_layer_norm=True), inputs(2)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(x)[..., 0] ** 2)
    gradients = tape.gradient(loss, layer.trainable_variables)
    assert all(np.abs(gradient).max() > 0 for gradient in gradients)
    rough = built(UNITS, PROJECTION, 2, use_layer_norm=True, dtype="mixed_bfloat16")
    assert rough(x).dtype == tf.float32
    np.testing.assert_allclose(rough(x), layer(x), atol=0.15)
    assert np.abs(rough(x) - layer(x)).max() > 0


def test_only_the_real_tokens_of_a_sentence_are_reversed():
    x = np.arange(2 * 5 * 3).reshape(2, 5, 3)
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)
    found = reverse_sentences(x, mask).numpy()
    np.testing.assert_array_equal(found[0], x[0, [2, 1, 0, 3, 4]])
    np.testing.assert_array_equal(found[1], x[1, ::-1])
    np.testing.assert_array_equal(reverse_sentences(found, mask), x)
    np.testing.assert_array_equal(reverse_sentences(x[..., 0], mask), found[..., 0])


def test_the_scalar_mix_is_a_weighted_mean_of_layers():
    layers = np.random.default_rng(0).normal(size=(B, T, 3 * SIZE)).astype(np.float32)
    mix = ScalarMix(3)
    np.testing.assert_allclose(mix(layers), layers.reshape(B, T, 3, SIZE).mean(2), atol=1e-6)
    mix.weights_of_layers.assign([0.0, np.log(2.0), np.log(5.0)])
    mix.gamma.assign([4.0])
    a, b, c = np.split(layers, 3, axis=-1)
    np.testing.assert_allclose(mix(layers), 4 * (a + 2 * b + 5 * c) / 8, atol=1e-5)
