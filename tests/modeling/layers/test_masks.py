"""Every pair of positions in the masks follows the definition of the mask."""

import numpy as np
import pytest

from tta.modeling.functions import masks
from tta.modeling.kits.keras import KerasKit
from tta.modeling.layers.blocks import diagonal_mask

pytestmark = pytest.mark.tensorflow

KIT = KerasKit()
RULES = [
    (masks.others, lambda i, j, n: j != i and j < n),
    (masks.up_to, lambda i, j, n: j <= i and j < n),
    (masks.from_on, lambda i, j, n: i <= j < n),
    (lambda k, is_real, queries: masks.everything(k, is_real), lambda i, j, n: j < n),
]


@pytest.mark.parametrize(("mask", "rule"), RULES, ids=["others", "up to", "from on", "everything"])
@pytest.mark.parametrize("length", [1, 2, 7])
def test_mask_follows_its_rule(mask, rule, length):
    real = np.array([length, length // 2, 0])
    padding_mask = np.arange(length) < real[:, None]
    found = np.asarray(mask(KIT, padding_mask, np.arange(length)))
    assert found.dtype == bool
    found = np.broadcast_to(found, (3, length, length))
    for b, n in enumerate(real):
        for i in range(length):
            for j in range(length):
                assert found[b, i, j] == rule(i, j, n), (n, i, j)


def test_padding_between_real_tokens_is_hidden_too():
    found = np.asarray(diagonal_mask(np.array([[True, False, True]])))
    assert found.tolist() == [[[False, False, True], [True, False, True], [True, False, False]]]


def test_a_mask_of_some_positions_has_the_rows_of_the_full_mask():
    padding_mask = np.arange(7) < np.array([7, 3, 0])[:, None]
    positions = np.array([1, 2, 5], np.int32)
    whole = np.asarray(diagonal_mask(padding_mask))
    for mask in (padding_mask, np.broadcast_to(padding_mask[:, None], (3, 7, 7))):
        found = np.asarray(diagonal_mask(mask, positions))
        np.testing.assert_array_equal(found, whole[:, positions])


@pytest.mark.parametrize("length", [1, 2, 7])
def test_later_pieces_of_the_same_word_are_hidden(length):
    words = np.random.default_rng(length).integers(0, 2, (3, length)).cumsum(axis=1)
    real = np.array([length, length // 2, 0])
    padding_mask = np.arange(length) < real[:, None]
    found = np.asarray(
        masks.without_later_pieces(KIT, padding_mask[:, None], words, np.arange(length))
    )
    without_self = np.asarray(diagonal_mask(found))
    assert found.shape == without_self.shape == (3, length, length)
    for b, n in enumerate(real):
        for i in range(length):
            for j in range(length):
                allowed = j < n and not (words[b, i] == words[b, j] and j > i)
                assert found[b, i, j] == allowed, (n, i, j)
                assert without_self[b, i, j] == (allowed and j != i), (n, i, j)
