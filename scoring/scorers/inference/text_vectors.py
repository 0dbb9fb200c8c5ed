"""Vectors of sentences and words from the vectors that a model gives their pieces.

N sentences, B batch, T tokens, D vector size, V vocabulary.
"""

from collections.abc import Iterable
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from tta.choices import SENTENCE_POOLINGS
from tta.errors import InputError
from tta.names import POOLING
from tta.scoring.engines.base import REPRESENTATIONS
from tta.scoring.scorers.arguments import as_texts, check_choice
from tta.scoring.scorers.inference.runtime import Results, Runtime
from tta.scoring.scorers.pooling import JOINT, PoolingStatistics, join
from tta.scoring.scorers.scorer import split_rows


class TextVectors(Runtime):
    """Encodes sentences and words; `TextModel` has the meaning of the arguments.

    Attributes:
        directory: the model directory, if there is one.
    """

    directory: Path | None

    @property
    def representations(self) -> tuple[str, ...]:
        """The representations of the model, the default first."""
        found = tuple(self.engine.vector_sizes)
        return (*found, JOINT) if "token" in found else found

    @property
    def pooled_representations(self) -> tuple[str, ...]:
        """The representations that pool the vectors of several pieces."""
        sizes = self.engine.vector_sizes
        return tuple(name for name in sizes if REPRESENTATIONS[name] == "text")

    @cached_property
    def pooling_statistics(self) -> PoolingStatistics:
        """`PoolingStatistics` of the model directory.

        Raises InputError if the directory has none, or they are damaged or belong to another model.
        """
        if self.directory is None:
            raise InputError(f"{self.name} is not a directory with {POOLING}")
        config, sizes = self.engine.config, self.engine.vector_sizes
        return PoolingStatistics.load(
            self.directory / POOLING,
            config.vocab_size,
            config.hidden_size,
            {name: sizes[name] for name in self.pooled_representations},
        )

    def _encode(self, texts, representation, pooling, progress) -> np.ndarray:
        self._check_pooling(representation, pooling)
        if representation == JOINT:
            token = self._encode(texts, "token", "whitened", False)
            return join(token, self._encode(texts, "context", "mean", progress))
        whitening = None
        piece_weights = np.ones(self.engine.config.vocab_size, np.float32)
        if pooling != "mean":
            piece_weights = self.pooling_statistics.piece_weights()
        if REPRESENTATIONS[representation] == "text":
            piece_weights[self.text_tokenizer.vocabulary.unk_id] = 0.0  # it says nothing
        if pooling == "whitened":
            whitening = self.pooling_statistics.whitenings[representation]
        sums = np.zeros((len(texts), self.engine.vector_sizes[representation]))
        totals = np.zeros(len(texts))
        for batch, vectors in self._vectors(texts, representation, progress):
            if whitening is not None:
                vectors = whitening(vectors)
            weights = batch.weights(piece_weights)
            added = (weights[:, None] @ vectors)[:, 0]  # [B, 1, T] [B, T, D] -> [B, D]
            for index, vector, weight in zip(
                batch.text_index, added, weights.sum(axis=1), strict=True
            ):
                sums[index] += vector  # `np.add.at` takes 18 times as long
                totals[index] += weight
        return (sums / np.where(totals > 0, totals, 1.0)[:, None]).astype(np.float32)

    def _encode_words(self, sentences, representation, progress) -> list[np.ndarray]:
        check_choice("representation", representation, self.pooled_representations, self.name)
        pieces: list[list[np.ndarray]] = [[] for _ in sentences]
        texts = [" ".join(words) for words in sentences]
        for batch, vectors in self._vectors(texts, representation, progress):
            for row, index in enumerate(batch.text_index):
                pieces[index].append(vectors[row, batch.keep[row]])  # windows come in order
        every_word = [word for words in sentences for word in words]
        _, lengths = self.text_tokenizer.tokenize_flat(every_word)
        counts = split_rows(lengths, [len(words) for words in sentences])
        return [_means(np.concatenate(p), c) for p, c in zip(pieces, counts, strict=True)]

    def piece_moments(
        self,
        texts: Iterable[str],
        representation: str,
        piece_weights: np.ndarray,
        progress: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The mean [D] and covariance [D, D] of the vectors of pieces, float64, for a `Whitening`.

        `piece_weights`, [V] float32 of 0 or more, weigh the pieces. The texts have at least one.
        """
        size = self.engine.vector_sizes[representation]
        total, mean, square = 0.0, np.zeros(size), np.zeros((size, size))
        for batch, vectors in self._vectors(as_texts(texts), representation, progress):
            weights = batch.weights(piece_weights)[batch.keep][:, None]
            rows = vectors[batch.keep]
            total += weights.sum(dtype=np.float64)
            mean += (rows * weights).sum(axis=0, dtype=np.float64)
            square += rows.T @ (rows * weights)
        mean /= total
        return mean, square / total - np.outer(mean, mean)

    def _vectors(self, texts, representation, progress) -> Results:
        """Yields (batch, vectors [B, T, D] float32)."""
        make = partial(self.engine.token_vectors, representation)
        return self.run(make, texts, {REPRESENTATIONS[representation]}, progress)

    def _check_pooling(self, representation, pooling):
        poolings = (
            SENTENCE_POOLINGS
            if representation in self.pooled_representations
            else SENTENCE_POOLINGS[:1]
        )
        check_choice(f"pooling of {representation}", pooling, poolings, self.name)
        if pooling == "whitened" and representation not in self.pooling_statistics.whitenings:
            raise InputError(f"{POOLING} has no whitening of {representation}", self.name)


def _means(vectors, counts):
    """The means of the first counts[0] rows of [T, D], of the next counts[1], ...: [W, D]."""
    belongs = np.repeat(np.arange(len(counts)), counts) == np.arange(len(counts))[:, None]
    return belongs.astype(np.float32) @ vectors / np.maximum(counts, 1)[:, None].astype(np.float32)
