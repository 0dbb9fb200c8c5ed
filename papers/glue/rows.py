"""Batches of rows of ids: of inputs that are cut, and of texts whose latent vectors are wanted.

N rows, B batch, T tokens.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tta.scoring.engines.base import BatchFunction
from tta.scoring.scorers.inference.batches import Batch, pad
from tta.scoring.scorers.inference.runtime import Results


def run_rows(lm: Any, function: BatchFunction, rows: Sequence[np.ndarray]) -> Results:
    """Yields (batch, result) of N rows of ids [T_n], begin and end token included.

    `function` is one of the engine of `lm`, a `TextModel`.
    """
    in_flight = lm.engine.batches_in_flight
    pad_id = lm.text_tokenizer.vocabulary.pad_id
    batches = batches_of_rows(rows, pad_id, lm.batch_tokens, in_flight)
    return lm.results(lambda: function, batches)


def batches_of_rows(
    rows: Sequence[np.ndarray], pad_id: int, batch_tokens: int, in_flight: int
) -> list[Batch]:
    """`Batch`es of N rows of ids [T_n], the longest first; `batch_tokens` as in `make_batches`.

    Their number is a multiple of `in_flight`, see `run_batches`, so that all cores end together.
    """
    order = sorted(range(len(rows)), key=lambda index: -len(rows[index]))
    batches = []
    while order:
        most = max(1, batch_tokens // len(rows[order[0]]))
        left = -(-len(order) // most)
        left += -(left + len(batches)) % in_flight
        count = -(-len(order) // left)
        chosen, order = order[:count], order[count:]
        ids, mask = pad([rows[index] for index in chosen], pad_id)
        batches.append(Batch(ids, mask, mask, chosen))
    return batches
