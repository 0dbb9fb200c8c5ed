"""The latent vector: its divergence against NumPy and Monte Carlo, and its samples."""

import numpy as np
import pytest
from keras import tree

from tests.modeling.numpy_tta import log_softmax
from tta.modeling.kits.keras import KerasKit
from tta.modeling.layers.base import Part
from tta.papers.nar import functions, model
from tta.papers.nar.config import AutoencoderConfig
from tta.papers.nar.functions import length_log_probabilities
from tta.papers.nar.layers import LatentConnector, kl_divergence
from tta.papers.nar.model import SequenceAutoencoder

pytestmark = pytest.mark.tensorflow

RNG = np.random.default_rng(0)


def config(**changes):
    """Of texts of up to 6 tokens, with vectors of 3 numbers between states of 5."""
    sizes = {"hidden_size": 5, "num_attention_heads": 1, "max_position_embeddings": 6}
    return AutoencoderConfig(**{"vocab_size": 7, "latent_size": 3} | sizes | changes)


def part(name, **changes):
    """The weights of a part, and a function of them over the kit of Keras."""
    layer = Part(name=name)
    layer.build(config(**changes).weights[name])
    return layer


def test_the_divergence_is_the_formula_and_what_samples_give():
    mean, log_variance = RNG.normal(size=(2, 5, 3))
    found = np.array(kl_divergence(mean.astype("float32"), log_variance.astype("float32")))
    expected = 0.5 * (mean**2 + np.exp(log_variance) - 1 - log_variance)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    noise = RNG.normal(size=(200_000, 1, 1))
    sample = mean + np.exp(log_variance / 2) * noise
    log_q = -0.5 * (noise**2 + log_variance)
    np.testing.assert_allclose((log_q + 0.5 * sample**2).mean(axis=0), found, atol=0.03)


def test_samples_have_the_mean_and_the_variance():
    connector = LatentConnector(config(variational=True), seed=1)
    mean, log_variance = np.float32([[1.0, -2.0, 0.5]]), np.float32([[0.0, 1.0, -3.0]])
    rows = [mean.repeat(50_000, 0), log_variance.repeat(50_000, 0)]
    drawn = np.array(connector.sample(*rows))
    np.testing.assert_allclose(drawn.mean(axis=0), mean[0], atol=0.03)
    np.testing.assert_allclose(drawn.var(axis=0), np.exp(log_variance[0]), rtol=0.05)
    assert (np.array(connector.sample(*rows)) != drawn).any(), "each call draws anew"
    again = np.array(LatentConnector(config(variational=True), seed=1).sample(*rows))
    np.testing.assert_array_equal(again, drawn)


@pytest.mark.parametrize("name", ["pooling", "connector", "latent_inputs"])
def test_a_part_by_itself_gives_what_its_function_gives_in_the_model(name, monkeypatch):
    changes = {"num_latents": 2, "variational": name == "connector"}
    one = SequenceAutoencoder(config(**changes))
    function = {"pooling": "pool", "connector": "connect"}.get(name, name)
    original, seen = getattr(functions, function), []

    def recorded(k, w, config, *given):
        seen.append((w, given, original(k, w, config, *given)))
        return seen[-1][-1]

    for module in (functions, model):
        if hasattr(module, function):
            monkeypatch.setattr(module, function, recorded)
    ids = np.array([[1, 2, 3, 4], [1, 5, 0, 0]], np.int32)
    one({"input_ids": ids, "padding_mask": ids > 0})
    monkeypatch.undo()
    ((w, given, expected),) = seen
    assert w is getattr(one, name)
    for found, there in zip(tree.flatten(w(*given)), tree.flatten(expected), strict=True):
        np.testing.assert_array_equal(found, there)


def test_the_length_is_a_softmax_over_the_numbers_of_tokens():
    layer = part("length_predictor", predicts_length=True)
    layer.bias.assign(RNG.normal(size=6))
    z = RNG.normal(size=(4, 3)).astype("float32")
    plain = log_softmax(z.astype(float) @ layer.kernel.numpy() + layer.bias.numpy())
    np.testing.assert_allclose(length_log_probabilities(KerasKit(), layer, z), plain, rtol=1e-5)
