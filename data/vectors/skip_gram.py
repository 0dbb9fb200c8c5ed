"""Trains vectors of tokens by skip-gram with negative sampling (Mikolov et al. 2013), by gensim."""

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tta.errors import InputError, install

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
        size: m, dimensions of a vector.
        window: the farthest context token, in tokens.
        num_epochs: passes of the training over the sentences.
        seed: with one worker, the same seed gives the same vectors.
        num_workers: threads.

    Raises:
        InputError: gensim is missing, or there is no sentence.
    """
    found = train_by_gensim(
        from_gensim("word2vec", "Word2Vec"), sentences, size, window, num_epochs, seed, num_workers
    )
    vectors = np.zeros((vocab_size, size), np.float32)
    ids: Any = list(found.key_to_index)  # in the order of the rows
    vectors[ids] = found.vectors
    return vectors


def train_by_gensim(
    kind: Any,
    sentences: Iterable[Sequence[Any]],
    size: int,
    window: int,
    num_epochs: int,
    seed: int,
    num_workers: int,
    unit: str = "sentence",
    **options: Any,
) -> Any:
    """gensim's `KeyedVectors` of all tokens, trained by skip-gram.

    `kind` is a class of gensim, `options` its further arguments, `unit` what a set without tokens
    lacks; the others and the errors are as in `train_skip_gram`.
    """
    model = kind(
        vector_size=size,
        window=window,
        sg=1,
        negative=NEGATIVES,
        min_count=1,
        epochs=num_epochs,
        seed=seed % 2**32,
        workers=num_workers,
        **options,
    )
    model.build_vocab(sentences)
    if not len(model.wv):
        raise InputError(f"the training set holds no {unit}")
    model.train(sentences, total_examples=model.corpus_count, epochs=num_epochs)
    return model.wv


def from_gensim(module: str, name: str) -> Any:
    """A class or function of a module of gensim.models; InputError if gensim is missing."""
    try:
        return getattr(importlib.import_module(f"gensim.models.{module}"), name)
    except ImportError:
        raise InputError(f"gensim is missing: {install('vectors')}") from None
