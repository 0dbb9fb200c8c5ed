"""Trains vectors of tokens: by skip-gram, or by truncated SVD of the shifted positive PMI.

Skip-gram with negative sampling (Mikolov et al. 2013) is gensim's. For the SVD, see Levy and
Goldberg 2014, "Neural word embedding as implicit matrix factorization", section 4.2: what skip-gram
with k negative samples factorizes implicitly is PMI(w, c) - log k. Its positive part is sparse, and
a truncated SVD of it is the best approximation of a rank (Li et al. 2019, section 4.2).
"""

import importlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import svds

from tta.errors import InputError, install

NEGATIVES = 5  # gensim's default


def train_skip_gram(
    sentences: Iterable[Sequence[int]], vocab_size: int, size: int, **training: Any
) -> np.ndarray:
    """Trains a vector for every id that occurs: [V, m] float32, zeros for the other ids.

    `sentences` are lists of ids below V = `vocab_size`; the other arguments and the errors are
    those of `train_by_gensim`.
    """
    kind = from_gensim("word2vec", "Word2Vec")
    word2vec = train_by_gensim(kind, "sentence", sentences, size, **training)
    vectors = np.zeros((vocab_size, size), np.float32)
    ids: Any = list(word2vec.key_to_index)  # in the order of the rows
    vectors[ids] = word2vec.vectors
    return vectors


def train_by_gensim(
    kind: Any,
    unit: str,
    sentences: Iterable[Sequence[Any]],
    size: int,
    window: int = 5,
    num_epochs: int = 5,
    seed: int = 0,
    num_workers: int = 1,
    **options: Any,
) -> Any:
    """gensim's `KeyedVectors` of all tokens, trained by skip-gram with negative sampling.

    Args:
        kind: a class of gensim; `options` are its further arguments.
        unit: what a set without tokens lacks.
        sentences: lists of tokens. They are read `num_epochs` + 1 times.
        size: m, dimensions of a vector.
        window: the farthest context token, in tokens.
        num_epochs: passes of the training over the sentences.
        seed: with one worker, the same seed gives the same vectors.
        num_workers: threads.

    Raises:
        InputError: gensim is missing, or there is no sentence.
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


_BLOCK_TOKENS = 1 << 21  # tokens whose pairs are counted at a time; bounds memory


def svd_vectors(
    sentences: Iterable[Sequence[int]],
    vocab_size: int,
    size: int,
    window: int = 5,
    num_negatives: float = 5,
    seed: int = 0,
) -> np.ndarray:
    """A vector for every id that occurs with another one: [V, m] float32, zeros for the others.

    The rows of U sqrt(S), of the largest m singular values.

    Args:
        sentences: lists of ids.
        vocab_size: V; ids are below it.
        size: m, below V.
        window: the farthest context token, in tokens of the same sentence.
        num_negatives: k, whose logarithm is subtracted from the PMI.
        seed: of the first vector of the iteration; the signs of the dimensions depend on it.

    Raises:
        InputError: no pair of tokens has a PMI above log k, or m is not below V.
    """
    if not size < vocab_size:
        raise InputError(f"svd needs size below the vocabulary's {vocab_size:,}, not {size:,}")
    matrix = shifted_pmi(count_pairs(sentences, vocab_size, window), num_negatives)
    if not matrix.nnz:
        raise InputError("no two tokens of the training set occur together often enough for svd")
    start = np.random.default_rng(seed).normal(size=vocab_size)
    left, values, _ = svds(matrix, size, v0=start)
    vectors = left * np.sqrt(values) * (matrix.sum(axis=1) > 0)[:, None]
    return vectors.astype(np.float32)


def count_pairs(sentences: Iterable[Sequence[int]], vocab_size: int, window: int) -> csr_array:
    """How often two tokens stand at most `window` tokens apart in a sentence: [V, V] int64.

    A pair counts in both orders, so the matrix is symmetric.
    """
    counts = csr_array((vocab_size, vocab_size), dtype=np.int64)
    for ids, number in _blocks(sentences):
        for distance in range(1, window + 1):
            together = number[distance:] == number[:-distance]
            pairs = ids[:-distance][together], ids[distance:][together]
            ones = np.ones(len(pairs[0]), np.int64)
            counts = counts + coo_array((ones, pairs), counts.shape).tocsr()
    return csr_array(counts + counts.T)


def shifted_pmi(counts: csr_array, num_negatives: float) -> csr_array:
    """max(0, PMI(w, c) - log k) of counts [V, V]; natural log, float64, without zeros stored.

    PMI(w, c) = log(#(w, c) D / (#(w) #(c))), with the D pairs in all.
    """
    pairs = counts.tocoo()
    rows, columns = pairs.coords
    of_word, of_context = (np.asarray(counts.sum(axis=axis)).ravel() for axis in (1, 0))
    pmi = np.log(pairs.data * float(counts.sum()))
    pmi -= np.log(of_word[rows] * of_context[columns].astype(np.float64))
    shifted = pmi - np.log(num_negatives)
    is_positive = shifted > 0
    return csr_array(
        (shifted[is_positive], (rows[is_positive], columns[is_positive])), shape=counts.shape
    )


def _blocks(sentences) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields the ids of some sentences in a row, and the number of each id's sentence."""
    held, size = [], 0
    for sentence in chain(sentences, [None]):
        if sentence is not None:
            held.append(sentence)
            size += len(sentence)
        if held and (sentence is None or size >= _BLOCK_TOKENS):
            lengths = [len(row) for row in held]
            ids = np.fromiter(chain.from_iterable(held), np.int64, sum(lengths))
            yield ids, np.repeat(np.arange(len(held)), lengths)
            held, size = [], 0
