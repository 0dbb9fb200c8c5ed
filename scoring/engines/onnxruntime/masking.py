"""Masks tokens one at a time, as a masked language model scores them. B batch, T tokens."""

from typing import Any

import numpy as np

from tta.scoring.engines.base import BatchFunction
from tta.scoring.engines.onnxruntime.session import SMALL, Session

# Copies of short sentences are computed together, up to this many tokens: on all cores if no other
# sentence is in work.
_TOKENS = SMALL


def token_by_token(
    session: Session, mask_id: int, continues_word: np.ndarray | None, with_targets: bool
) -> BatchFunction:
    """The results of a session for one token of each sentence, at all wanted tokens of a batch.

    A batch takes as many passes as its longest sentence has wanted tokens, or fewer.

    Args:
        session: of `Network.masked_scores` or `Network.masked_states`.
        mask_id: id of the mask.
        continues_word: [V] bool, whether a piece continues a word: the later pieces of the token's
            word are masked too. None masks the token alone.
        with_targets: whether the session takes the masked tokens.
    """

    def function(ids, mask, wanted):
        words = None if continues_word is None else np.cumsum(~continues_word[ids], axis=1)
        rows, columns = np.nonzero(wanted)
        size, positions = max(len(ids), _TOKENS // ids.shape[1]), np.arange(ids.shape[1])
        found: Any = None
        for start in range(0, max(len(rows), 1), size):
            row, column = rows[start : start + size], columns[start : start + size]
            hidden = positions == column[:, None]
            if words is not None:
                same = words[row] == words[row, column][:, None]
                hidden = same & (positions >= column[:, None])
            masked = np.where(hidden, np.int32(mask_id), ids[row])
            targets = {"targets": ids[row, column]} if with_targets else {}
            result = session(input_ids=masked, padding_mask=mask[row], positions=column, **targets)
            if found is None:
                found = np.zeros((*ids.shape, *result.shape[1:]), np.float32)
            found[row, column] = result
        return found

    return function
