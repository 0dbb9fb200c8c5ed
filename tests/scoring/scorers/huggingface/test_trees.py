"""Token trees: nodes and masks beside a plain twin."""

import numpy as np
import pytest

from tta.scoring.scorers.huggingface.trees import Row, ancestors, trees


def row_of(number, ids):
    """All tokens of a text but the first are scored, each at the position before."""
    places = [(number, index) for index in range(len(ids) - 1)]
    return Row(ids[:-1], [], list(range(len(ids) - 1)), ids[1:], places)


@pytest.mark.parametrize("size", [3, 7, 11, 1000])
def test_nodes_are_the_prefixes_and_see_their_own_prefixes(size):
    random = np.random.default_rng(size)
    texts = [[9, *random.integers(0, 3, random.integers(1, 8)).tolist()] for _ in range(23)]
    found = list(trees([row_of(n, ids) for n, ids in enumerate(texts)], size))
    assert len(found) > 1 or size == 1000
    seen_places = []
    for tree in found:
        assert len(tree.ids) <= max(size, 7)
        seen, depths = ancestors(tree, len(tree.ids) + 2)
        prefixes = []
        for node in range(len(tree.ids)):
            above = np.flatnonzero(seen[node]).tolist()  # in the order in which they were added
            prefixes.append(tuple(tree.ids[other] for other in above))
            assert depths[node] == len(above) - 1
            assert above[-1] == node
            assert [prefixes[other] for other in above] == [
                prefixes[node][: n + 1] for n in range(len(above))
            ]
        assert len(set(prefixes)) == len(prefixes)  # each prefix once
        for position, target, (text, place) in zip(
            tree.positions, tree.targets, tree.places, strict=True
        ):
            assert prefixes[position] == tuple(texts[text][: place + 1])
            assert target == texts[text][place + 1]
        assert seen[-1].tolist() == [False] * (len(tree.ids) + 1) + [True]  # padding
        seen_places += tree.places
    assert sorted(seen_places) == [
        (n, k) for n, ids in enumerate(texts) for k in range(len(ids) - 1)
    ]
    if size == 1000:
        distinct = {tuple(ids[:n]) for ids in texts for n in range(1, len(ids))}
        assert len(found[0].ids) == len(distinct)
