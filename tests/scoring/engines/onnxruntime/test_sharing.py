"""Tokens share a state exactly if the tower has read the same up to them."""

import numpy as np
import pytest

from tta.scoring.engines.onnxruntime.language_model import shared_states

RNG = np.random.default_rng(0)


def what_was_read(ids, mask, tower):
    """[B, T] of what the state of each token depends on, or None at padding."""
    found = np.full(ids.shape, None, object)
    for row, column in np.argwhere(mask):
        part = slice(None, column + 1) if tower == "forward" else slice(column, None)
        found[row, column] = int(column), tuple(ids[row, part][mask[row, part]])
    return found


@pytest.mark.parametrize("tower", ["forward", "backward"])
@pytest.mark.parametrize("num_kinds", [1, 2, 50])
def test_tokens_share_a_state_if_and_only_if_the_tower_has_read_the_same(tower, num_kinds):
    mask = np.arange(9) < RNG.integers(1, 10, (20, 1))
    ids = RNG.integers(0, num_kinds, mask.shape).astype(np.int32)
    given = shared_states(ids, mask, [tower])
    assert list(given) == [f"{tower}_index", f"{tower}_tokens"]
    index, tokens = given.values()
    read = what_was_read(ids, mask, tower)
    assert len(tokens) == index.max() + 1
    assert len({*index[mask].tolist()}) == len({*read[mask]})
    for state, token in zip(index[mask], read[mask], strict=True):
        assert read.flat[tokens[state]] == token
    assert not {*index[mask].tolist()} & {*index[~mask].tolist()}


def test_a_model_without_towers_reads_nothing():
    assert shared_states(np.zeros((1, 2), np.int32), np.ones((1, 2), bool), []) == {}
