"""The input of an encoder, the sum of its tables, and T-TA's first query."""

import numpy as np
import pytest

from tests.modeling import numpy_tta
from tests.modeling.tiny import made_of, randomize, tiny_config
from tta.modeling.functions.layers import embed
from tta.modeling.kits.keras import KerasKit

pytestmark = pytest.mark.tensorflow

V, D, P, B, T = 13, 5, 11, 3, 7
SIZES = {
    "vocab_size": V,
    "hidden_size": D,
    "num_attention_heads": 1,
    "max_position_embeddings": P,
}
CONFIG = tiny_config(**SIZES)
IDS = np.random.default_rng(0).integers(0, V, (B, T)).astype(np.int32)


@pytest.fixture
def layer():
    layer = made_of(CONFIG.embedding_weights)
    randomize({v.path: v for v in layer.weights})
    return layer


def normalise(layer, x):
    gamma, beta = (np.asarray(v, np.float64) for v in (layer.norm.gamma, layer.norm.beta))
    return numpy_tta.layer_norm(x, gamma, beta)


def test_output_is_the_normalised_sum_of_token_and_position(layer):
    token = np.asarray(layer.token_table, np.float64)
    position = np.asarray(layer.position_table, np.float64)
    expected = normalise(layer, token[IDS] + position[:T])
    np.testing.assert_allclose(
        np.asarray(embed(KerasKit(), layer, CONFIG, IDS)), expected, atol=1e-5
    )


def test_the_longest_sequence_is_accepted_and_a_longer_one_refused(layer):
    def made(length):
        return embed(KerasKit(), layer, CONFIG, np.zeros((1, length), np.int32))

    assert made(P).shape == (1, P, D)
    with pytest.raises(
        ValueError, match=r"at most 11 positions \(max_position_embeddings\), not 12"
    ):
        made(P + 1)
