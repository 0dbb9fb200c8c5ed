"""Masked attention equals its equation, and forbidden keys get exactly zero weight."""

import numpy as np
import pytest

from tests.modeling import numpy_tta
from tests.modeling.tiny import randomize
from tta.modeling.functions.layers import attention_weights, masked_softmax
from tta.modeling.kits.keras import KerasKit
from tta.modeling.layers.blocks import DiagonalMaskedSelfAttention, MaskedAttention

pytestmark = pytest.mark.tensorflow

KIT = KerasKit()

B, T, S, N, H = 2, 7, 11, 3, 5
RNG = np.random.default_rng(0)


def normal(*shape, scale=1.0):
    return RNG.normal(0.0, scale, shape).astype(np.float32)


def weights_of(layer):
    """{"query/kernel": float64 array, ...}."""
    return {"/".join(v.path.split("/")[-2:]): np.asarray(v, np.float64) for v in layer.weights}


def random_layer(kind, **options):
    layer = kind(N, **options)
    layer.build((B, T, N * H))
    randomize({v.path: v for v in layer.weights})
    return layer


def test_attention_weights_are_the_softmax_over_allowed_keys():
    query, key = normal(B, N, T, H), normal(B, N, S, H)
    mask = RNG.random((B, T, S)) < 0.5
    found = np.asarray(attention_weights(KIT, query, key, mask, H))
    assert found.shape == (B, N, T, S)
    for b, n, t in np.ndindex(B, N, T):
        seen = mask[b, t]
        expected = np.zeros(S)
        expected[seen] = numpy_tta.softmax(
            key[b, n, seen].astype(np.float64) @ query[b, n, t] / np.sqrt(H)
        )
        np.testing.assert_allclose(found[b, n, t], expected, atol=1e-6)


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
    layer = random_layer(MaskedAttention)
    x = normal(B, T, N * H)
    mask = np.tril(np.ones((1, T, T), bool)).repeat(B, axis=0)
    found = np.asarray(layer(x, x, mask))
    for b in range(B):
        expected = numpy_tta.attention(
            x[b].astype(np.float64), x[b], weights_of(layer), N, lambda i, n: list(range(i + 1))
        )
        np.testing.assert_allclose(found[b], expected, atol=1e-5)


def test_an_attention_drops_nothing_by_default():
    x, mask = normal(B, T, N * H), np.ones((1, T, T), bool)
    layer = random_layer(MaskedAttention)
    found, trained = (np.asarray(layer(x, x, mask, training=flag)) for flag in (False, True))
    np.testing.assert_allclose(trained, found, atol=1e-6)


@pytest.mark.parametrize("length", [1, 2, 7])
def test_diagonal_masked_self_attention_equals_its_equation(length):
    layer = random_layer(DiagonalMaskedSelfAttention)
    query, key_value = normal(B, length, N * H), normal(B, length, N * H)
    real = [length, max(1, length - 3)]
    padding_mask = np.arange(length) < np.array(real)[:, None]
    found = np.asarray(layer(query, key_value, padding_mask))
    for b, n in enumerate(real):
        expected = numpy_tta.attention(
            query[b, :n].astype(np.float64), key_value[b, :n], weights_of(layer), N
        )
        np.testing.assert_allclose(found[b, :n], expected, atol=1e-5)


def test_a_shared_query_equals_one_query_per_sentence():
    layer = random_layer(DiagonalMaskedSelfAttention)
    query, key_value, mask = normal(1, T, N * H), normal(B, T, N * H), np.ones((B, T), bool)
    np.testing.assert_allclose(
        np.asarray(layer(query, key_value, mask)),
        np.asarray(layer(query.repeat(B, axis=0), key_value, mask)),
        atol=1e-6,
    )


def test_hidden_size_must_be_a_multiple_of_the_heads():
    with pytest.raises(ValueError, match="hidden size 16 is not a multiple of num_heads 3"):
        MaskedAttention(3).build((None, None, 16))
