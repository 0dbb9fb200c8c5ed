"""A block of some positions gives the rows of the whole block."""

import numpy as np
import pytest

from tests.modeling.tiny import randomize, tiny_config
from tta.modeling.functions import masks
from tta.modeling.kits.keras import KerasKit
from tta.modeling.layers.blocks import TransformerBlock

PADDING_MASK = np.arange(7) < np.array([7, 5])[:, None]


def causal(k, is_real):
    return masks.up_to(k, is_real, masks.tokens(k, is_real))


@pytest.mark.parametrize("mask", [masks.everything, causal])
def test_positions_have_the_rows_of_all(mask):
    block, rng = TransformerBlock(tiny_config()), np.random.default_rng(1)
    x, attention_mask = (
        rng.normal(size=(2, 7, 15)).astype(np.float32),
        mask(KerasKit(), PADDING_MASK),
    )
    assert block(x, attention_mask).shape == x.shape
    randomize({weight.path: weight for weight in block.weights})
    whole, positions = np.asarray(block(x, attention_mask)), np.array([4, 0, 2], np.int32)
    found = np.asarray(block(x, attention_mask, positions))
    np.testing.assert_allclose(found, whole[:, positions], atol=1e-5)
    other = np.asarray(block(x[:, ::-1], attention_mask, positions))
    assert np.abs(found - other).max() > 0.1, "the stream counts"
