"""Trains vectors of tokens by skip-gram with negative sampling (Mikolov et al. 2013), by gensim."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tta.errors import InputError

NEGATIVES = 5  # gensim's default


def train_skip_gram(
    sentences: Iterable[Sequence[int]],
    vocab_size: int,
    size: int,
    window: int = 5,
    num_epochs: int = 5,
    seed: int = 0,
    num_workers: int = 1,
) -> np.ndarray:
    """Trains a vector for every id that occurs: [V, m] float32, zeros for the other ids.

    Args:
        sentences: lists of ids. They are read `num_epochs` + 1 times.
        vocab_size: V; ids are below it.
        size: m, numbers in a vector.
        window: the farthest context token, in tokens.
        num_epochs: passes of the training over the sentences.
        seed: with one worker, the same seed gives the same vectors.
        num_workers: threads.

    Raises:
        InputError: gensim is missing, or there is no sentence.
    """
    try:
        from gensim.models import Word2Vec
    except ImportError:
        raise InputError("gensim is missing: pip install 'tta-lm[vectors]'") from None

    model = Word2Vec(
        vector_size=size,
        window=window,
        sg=1,
        negative=NEGATIVES,
        min_count=1,
        epochs=num_epochs,
        seed=seed % 2**32,
        workers=num_workers,
    )
    model.build_vocab(sentences)
    if not len(model.wv):
        raise InputError("the training set holds no sentence")
    model.train(sentences, total_examples=model.corpus_count, epochs=num_epochs)
    vectors = np.zeros((vocab_size, size), np.float32)
    ids: Any = list(model.wv.key_to_index)  # in the order of the rows
    vectors[ids] = model.wv.vectors
    return vectors
