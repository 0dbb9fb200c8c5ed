"""Texts as token trees, in which a causal model reads what texts share at their begin only once.

T nodes of a tree.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

# Keys of configs that bound how far attention reaches, in tokens.
_WINDOWS = re.compile(r"(window(_size)?|chunk_size|local_attention)$")


class Row(NamedTuple):
    """One row of a batch: what a model reads, and the positions that it scores.

    Attributes:
        ids: T ids.
        parents: the position before each one in a tree, -1 for none; () for a text, left to right.
        positions: those whose outputs predict the targets.
        targets: the ids that are scored.
        places: of each target, the number of its text, and its place in the tokens of the text.
    """

    ids: list[int]
    parents: list[int]
    positions: list[int]
    targets: list[int]
    places: list[tuple[int, int]]


def trees(rows: Iterable[Row], size: int) -> Iterator[Row]:
    """Joins rows of texts into trees of at most `size` nodes; a longer text is a tree by itself."""
    tree, last, path = Row([], [], [], [], []), [], []
    for row in sorted(rows, key=lambda one: one.ids):  # so the last text shares the most
        pairs = enumerate(zip(last, row.ids, strict=False))
        same = next((n for n, (before, now) in pairs if before != now), len(last))
        if tree.ids and len(tree.ids) + len(row.ids) - same > size:
            yield tree
            tree, same = Row([], [], [], [], []), 0
        start, last = len(tree.ids), row.ids
        path = [*path[:same], *range(start, start + len(last) - same)]
        tree.ids.extend(last[same:])
        tree.parents.extend([-1, *path][same : len(last)])
        tree.positions.extend(path[position] for position in row.positions)
        tree.targets.extend(row.targets)
        tree.places.extend(row.places)
    if tree.ids:
        yield tree


def ancestors(row: Row, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that each node of a tree may see, [size, size] bool, and its depth, [size] int64.

    Padding sees itself.
    """
    seen, depths = np.eye(size, dtype=bool), np.zeros(size, np.int64)
    for node, parent in enumerate(row.parents):
        if parent >= 0:
            seen[node] |= seen[parent]
            depths[node] = depths[parent] + 1
    return seen, depths


def window(config: Any) -> int | None:
    """The shortest reach of attention that a model's config names, in tokens, or None."""
    items = config.get_text_config().to_dict().items()
    named = (v for k, v in items if _WINDOWS.search(k) and isinstance(v, int) and v > 0)
    return min(named, default=None)
