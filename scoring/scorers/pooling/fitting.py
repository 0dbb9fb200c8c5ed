"""Fits the statistics of text that the poolings and the representation `joint` use.

V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tta.errors import InputError
from tta.scoring.scorers.pooling.joint import JOINT, learn_weights
from tta.scoring.scorers.pooling.statistics import PoolingStatistics, Whitening


def piece_probabilities(ids: Sequence[np.ndarray], vocab_size: int) -> np.ndarray:
    """The relative frequency of each of the V pieces in many sentences: [V] float32, sum 1.

    0.5 is added to each count, so that no frequency is 0.
    """
    counts = np.bincount(np.concatenate([np.zeros(0, np.int64), *ids]), minlength=vocab_size) + 0.5
    return (counts / counts.sum()).astype(np.float32)


def fit_pooling(
    lm: Any, texts: Sequence[str], num_whitening: int, progress: bool = False
) -> PoolingStatistics:
    """Fits the `PoolingStatistics` of a `TextModel` on many sentences in random order.

    Whitenings are fitted on the first `num_whitening` sentences.

    Raises:
        InputError: the text has too few different sentences for the size of the vectors.
    """
    config, few = lm.model.config, texts[:num_whitening]
    ids = lm.tokenizer.encode(texts)
    different = {one.tobytes(): len(one) for one in ids[:num_whitening]}
    num_pieces = sum(different.values())
    size = max(map(lm.vector_size, lm.pooled_representations))
    if num_pieces <= size:
        raise InputError(
            f"whitening vectors of size {size} needs more than {size} pieces in different "
            f"sentences, got {num_pieces}"
        )
    probabilities = piece_probabilities(ids, config.vocab_size)
    weights = PoolingStatistics(probabilities, {}).piece_weights()
    whitenings = {
        name: Whitening.fit(*lm.piece_moments(few, name, weights, progress=progress))
        for name in lm.pooled_representations
    }
    if JOINT not in lm.representations:
        return PoolingStatistics(probabilities, whitenings)
    rows = np.asarray(whitenings["token"](np.asarray(lm.model.token_table, np.float32)))
    return PoolingStatistics(probabilities, whitenings, learn_weights(rows, ids, weights))
