"""Masked attention equals its equation, and forbidden keys get exactly zero weight."""

import numpy as np
import pytest

from tests.modeling import numpy_tta
from tests.modeling.tiny import randomize
from tta.modeling.functions.layers import masked_softmax
from tta.modeling.kits.keras import KerasKit
from tta.modeling.layers.blocks import MaskedAttention

pytestmark = pytest.mark.tensorflow

KIT = KerasKit()

B, T, S, N, H = 2, 7, 11, 3, 5
RNG = np.random.default_rng(0)


def normal(*shape, scale=1.0):
    return RNG.normal(0.0, scale, shape).astype(np.float32)


def random_layer():
    layer = MaskedAttention(N)
    layer.build((B, T, N * H))
    randomize({v.path: v for v in layer.weights})
    return layer


@pytest.mark.parametrize("scale", [1.0, 1e4, 1e30], ids=["usual", "large", "huge"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_forbidden_keys_get_exactly_zero_however_large_their_logits(scale, dtype):
    import ml_dtypes

    dtype = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16}[dtype]
    logits = normal(B, N, T, S)
    mask = RNG.random((B, T, S)) < 0.5
    mask[:, 0] = False  # no allowed key
    mask[:, 1] = True
    logits = np.where(mask[:, None], logits, scale).astype(dtype)
    found = np.asarray(masked_softmax(KIT, logits, mask))
    assert found.dtype == np.float32
    forbidden = np.broadcast_to(~mask[:, None], found.shape)
    assert (found[forbidden] == 0.0).all()
    np.testing.assert_array_equal(found[:, :, 0], 0.0)
    np.testing.assert_allclose(found[:, :, 1:].sum(-1), 1.0, atol=1e-5)


def test_a_mask_for_all_queries_is_broadcast():
    logits, mask = normal(B, N, T, S), RNG.random((B, 1, S)) < 0.5
    np.testing.assert_array_equal(
        np.asarray(masked_softmax(KIT, logits, mask)),
        np.asarray(masked_softmax(KIT, logits, np.repeat(mask, T, axis=1))),
    )


def test_masked_attention_equals_its_equation():
    """The encoders' tests have T-TA's, which sees all positions but its own."""
    layer, x = random_layer(), normal(B, T, N * H)
    weights = {"/".join(v.path.split("/")[-2:]): np.asarray(v, np.float64) for v in layer.weights}
    mask = np.tril(np.ones((1, T, T), bool)).repeat(B, axis=0)
    found = np.asarray(layer(x, x, mask))
    for b in range(B):
        expected = numpy_tta.attention(
            x[b].astype(np.float64), x[b], weights, N, lambda i, n: list(range(i + 1))
        )
        np.testing.assert_allclose(found[b], expected, atol=1e-5)


def test_an_attention_drops_nothing_by_default():
    layer, x, mask = random_layer(), normal(B, T, N * H), np.ones((1, T, T), bool)
    found, trained = (np.asarray(layer(x, x, mask, training=flag)) for flag in (False, True))
    np.testing.assert_allclose(trained, found, atol=1e-6)


def test_hidden_size_must_be_a_multiple_of_the_heads():
    with pytest.raises(ValueError, match="hidden size 16 is not a multiple of num_heads 3"):
        MaskedAttention(3).build((None, None, 16))
