"""Which tokens of a batch have a state in common. B batch, T tokens."""

from collections.abc import Sequence

import numpy as np


def shared_states(
    ids: np.ndarray, mask: np.ndarray, towers: Sequence[str]
) -> dict[str, np.ndarray]:
    """The inputs of a graph whose encoder shares states, see `Network.is_shared`.

    The state of a "forward" tower depends on the tokens up to its own, that of a "backward" tower
    on those from its own on, and both on the position.

    Args:
        ids: [B, T] int.
        mask: [B, T] bool, True at real tokens. All padding of a position has one state, which
            nothing reads.
        towers: of "forward" and "backward".
    """
    found = {}
    for tower in towers:
        index, tokens = np.zeros(ids.shape, np.int64), []
        before, count = np.zeros(len(ids), np.int64), 0
        columns = np.arange(ids.shape[1])
        for column in columns if tower == "forward" else columns[::-1]:
            # Equal if the token is, and the state before it.
            keys = np.where(mask[:, column], before << 32 | ids[:, column], -1)
            _, first, number = np.unique(keys, return_index=True, return_inverse=True)
            index[:, column] = count + number
            tokens.append(first * ids.shape[1] + column)
            before, count = number, count + len(first)
        found[f"{tower}_index"], found[f"{tower}_tokens"] = index, np.concatenate(tokens)
    return found
