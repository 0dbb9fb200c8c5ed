"""Vectors of sentences and words from the vectors that a model gives their pieces.

N sentences, B batch, T tokens, D vector size, V vocabulary.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from tta.choices import SENTENCE_POOLINGS
from tta.errors import InputError
from tta.names import POOLING
from tta.scoring.engines.base import REPRESENTATIONS
from tta.scoring.scorers.arguments import as_texts, check_choice
from tta.scoring.scorers.comparison.alignment import (
    ALIGNED,
    ALIGNMENT,
    MAX_WEIGHT,
    RARE,
    SHARES,
    AlignedTexts,
    WordPair,
    WordVectors,
)
from tta.scoring.scorers.comparison.cosines import Comparison
from tta.scoring.scorers.comparison.words import WordTexts
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
        sizes = tuple(self.engine.vector_sizes)
        return (*sizes, JOINT) if "token" in sizes else sizes

    @property
    def pair_representations(self) -> tuple[str, ...]:
        """Similarities of two texts by their words, for a model with a token table."""
        return (ALIGNED, ALIGNMENT) if "token" in self.engine.vector_sizes else ()

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

    def choose_representation(self, representation: str | None = None) -> str:
        """As `Scorer.choose_representation`. A similarity of two texts is refused by its name."""
        if representation in self.pair_representations:
            raise InputError(
                f"{representation} compares two texts (similarity, similarity_matrix, tta sts, "
                f"/v1/similarity); a text alone has no such vector: take {JOINT}",
                self.name,
            )
        return super().choose_representation(representation)

    def comparison(
        self,
        texts: Sequence[str],
        representation: str | None = None,
        pooling: str = "mean",
        progress: bool = False,
    ) -> Comparison:
        representation = self.choose_comparison(representation)
        if representation not in self.pair_representations:
            return super().comparison(texts, representation, pooling, progress)
        check_choice(f"pooling of {representation}", pooling, SENTENCE_POOLINGS[:1], self.name)
        return self._aligned(texts, representation)

    def comparison_signature(self, representation: str | None = None) -> str:
        representation = self.choose_comparison(representation)
        if representation not in self.pair_representations:
            return super().comparison_signature(representation)
        digest = self.pooling_statistics.digest
        return f"{self.signature}|similarity:{representation}|pooling:{digest}"

    def align(self, first: str, second: str) -> list[WordPair]:
        if not self.pair_representations:
            raise self.lacks("alignment")
        for name, text in (("first", first), ("second", second)):
            if not isinstance(text, str):
                raise TypeError(f"{name} must be a str, not {type(text).__name__}")
        return self._aligned(as_texts([first, second]), ALIGNMENT).pairs(0, 1)

    def _aligned(self, texts: Sequence[str], representation: str) -> AlignedTexts:
        # In order, so that the last bits of a similarity do not depend on that of the arguments.
        distinct = sorted(set(texts))
        words = WordTexts.read(distinct, self.text_tokenizer)
        place = {text: number for number, text in enumerate(distinct)}
        places = np.array([place[text] for text in texts], np.int64)
        return AlignedTexts(words, self._word_vectors(words.words), places, SHARES[representation])

    def _word_vectors(self, words: list[str]) -> WordVectors:
        """What the model knows of W words. Raises InputError without `pooling_statistics`."""
        from scipy.sparse import csr_array  # takes longer to import than to run

        self._check_pooling("token", "whitened")
        statistics, vocabulary = self.pooling_statistics, self.text_tokenizer.vocabulary
        ids, lengths = self.text_tokenizer.tokenize_flat(words)
        pieces, columns = np.unique(ids, return_inverse=True)
        # A piece that is not in the vocabulary is unknown.
        is_known = (pieces != vocabulary.unk_id) & (pieces < len(statistics.piece_probabilities))
        in_table = np.where(is_known, pieces, vocabulary.unk_id)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        counts = csr_array(
            (np.ones(len(ids), np.float32), columns, ends), shape=(len(words), len(pieces))
        )
        masses = is_known * statistics.piece_weights()[in_table]
        weights = is_known * statistics.piece_weights(RARE)[in_table]
        rows = statistics.whitenings["token"](self._token_rows(in_table))
        if not np.isfinite(rows).all():
            raise InputError("a row of the token table is not finite", self.name)
        is_unknown_word = counts @ masses == 0
        return WordVectors(
            sums=counts @ (masses[:, None] * rows),
            masses=counts @ masses,
            weights=np.where(is_unknown_word, 1.0, np.minimum(counts @ weights, MAX_WEIGHT)),
        )

    def _token_rows(self, ids: np.ndarray) -> np.ndarray:
        """The rows of pieces in the token table: [U] int -> [U, D] float32."""
        is_piece = np.ones((1, len(ids)), bool)
        return self.engine.token_vectors("token")(ids[None].astype(np.int32), is_piece, is_piece)[0]

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
