"""Pooling of the vectors of pieces into the vector of a sentence: `mean`, `sif`, `whitened`.

- `mean`: every piece has the same weight (the paper's protocol).
- `sif`: a piece has the weight a / (a + p), with p its relative frequency in text, so that "the"
  has a small weight (Arora et al., 2017, "A simple but tough-to-beat baseline for sentence
  embeddings").
- `whitened`: the vectors of pieces are centred by their mean over text, scaled to equal variance in
  all directions, and normalized to length 1. Then `sif` is applied. So neither a few directions
  (Su et al., 2021, arXiv:2103.15316, for sentence vectors) nor a few pieces dominate cosines.

- `join` puts whitened token rows and the last layer's outputs side by side, for the representation
  `joint`.

`sif` and `whitened` need no labels. They need statistics of text, which tta fit-pooling writes to
`pooling.npz` in the model directory.

V vocabulary, D vector size.
"""

import hashlib
import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tta.checked_files import reading
from tta.errors import InputError

SIF_A = 1e-3  # as Arora et al.
JOINT = "joint"  # the representation that `join` makes
# Chosen on STS-B dev and SICK train (docs/experiments/training.md): a constant beside the whitened
# token rows, whose length is 1, and the share of the outputs in the cosine.
JOINT_CONSTANT, JOINT_CONTEXT = 0.3, 0.3
_ROUNDING = 1e-5  # of a variance, relative to the squared length of the mean
_LEAST_VARIANCE = 1e-6  # relative to the largest; smaller variances are scaled as if it were this


@dataclass(frozen=True, eq=False)
class Whitening:
    """Maps the vector of a piece to (vector - mean) matrix, normalized to length 1.

    Attributes:
        mean: [D] float32.
        matrix: [D, D] float32; the covariance of the products over text is the identity.
    """

    mean: np.ndarray
    matrix: np.ndarray

    @classmethod
    def fit(cls, mean: np.ndarray, covariance: np.ndarray) -> "Whitening":
        """Fits it to the mean [D] and covariance [D, D] of the vectors of pieces over text.

        Raises InputError if the vectors are all equal, up to the rounding errors of float32.
        """
        variances, directions = np.linalg.eigh(covariance)
        if not variances.max() > _ROUNDING * (mean @ mean):
            raise InputError("no whitening: the vectors of all pieces of the text are equal")
        variances = np.maximum(variances, _LEAST_VARIANCE * variances.max())
        matrix = directions / np.sqrt(variances)
        return cls(mean.astype(np.float32), matrix.astype(np.float32))

    def affine(self, vectors: np.ndarray) -> np.ndarray:
        """(vectors - mean) matrix, without the normalization: [..., D] float32."""
        return (vectors - self.mean) @ self.matrix

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """[..., D] float32 -> [..., D] float32. A vector equal to the mean gives zeros."""
        return of_length_1(self.affine(vectors))


@dataclass(frozen=True)
class PoolingStatistics:
    """Statistics of text that `sif` and `whitened` use.

    Attributes:
        piece_probabilities: [V] float32, the relative frequency of each piece; above 0.
        whitenings: {representation: `Whitening`}.
    """

    piece_probabilities: np.ndarray
    whitenings: dict[str, Whitening]

    def piece_weights(self, a: float = SIF_A) -> np.ndarray:
        """The weight a / (a + p) of each piece, by default that in `sif`: [V] float32, 0 to 1."""
        return (a / (a + self.piece_probabilities)).astype(np.float32)

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that change with the statistics: of their SHA-256."""
        digest = hashlib.sha256()
        for name, array in sorted(self._arrays().items()):
            digest.update(name.encode() + array.tobytes())
        return digest.hexdigest()[:8]

    def write(self, file: BinaryIO) -> None:
        """Writes the statistics to an open binary file."""
        np.savez_compressed(file, allow_pickle=False, **self._arrays())

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"piece_probabilities": self.piece_probabilities}
        for name, whitening in self.whitenings.items():
            arrays |= {f"{name}.mean": whitening.mean, f"{name}.matrix": whitening.matrix}
        return arrays

    @classmethod
    def load(
        cls,
        path: Path | str,
        vocab_size: int,
        hidden_size: int,
        sizes: Mapping[str, int] | None = None,
    ) -> "PoolingStatistics":
        """Reads `pooling.npz`. It is a zip file, whose checksums detect damage.

        `sizes` are the sizes D of representations where they are not `hidden_size`. Raises
        InputError if the file is missing or damaged, or does not fit a model of these sizes.
        """
        rule, missing = "not readable pooling statistics", "no such file; tta fit-pooling writes it"
        # NumPy, zipfile and zlib raise errors of many kinds for damaged files.
        with reading(rule, path, Exception, missing=missing), open(path, "rb") as stream:
            with zipfile.ZipFile(stream) as archive:
                headers = {name: _read_header(archive, name) for name in archive.namelist()}
            names = _check_headers(headers, vocab_size, hidden_size, sizes or {}, path)
            stream.seek(0)
            arrays = dict(np.load(stream, allow_pickle=False))
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise InputError("pooling statistics must be finite float32 numbers", path)
        probabilities = arrays["piece_probabilities"]
        if not (probabilities > 0).all():
            raise InputError("the probability of every piece must be above 0", path)
        whitenings = {n: Whitening(arrays[f"{n}.mean"], arrays[f"{n}.matrix"]) for n in names}
        return cls(probabilities, whitenings)


def _read_header(archive, name):
    """(shape, dtype, bytes) of an array in an npz file, from its header; the array is not read."""
    with archive.open(name) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise ValueError(f"{name} is in another version of the format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        num_bytes = archive.getinfo(name).file_size - member.tell()
    return shape, dtype, num_bytes


def _check_headers(headers, vocab_size, hidden_size, sizes, path):
    """The representations that have a whitening; raises InputError if the arrays do not fit."""
    names = {name.partition(".")[0] for name in headers} - {"piece_probabilities"}
    expected = {"piece_probabilities.npy": (vocab_size,)}
    for name in names:
        size = sizes.get(name, hidden_size)
        expected |= {f"{name}.mean.npy": (size,), f"{name}.matrix.npy": (size, size)}
    if any(dtype.hasobject for _, dtype, _ in headers.values()):
        raise InputError("not readable pooling statistics: a pickle, which can run code", path)
    if {name: shape for name, (shape, _, _) in headers.items()} != expected:
        raise InputError("not the pooling statistics of this model: other arrays", path)
    if any(dtype != np.float32 for _, dtype, _ in headers.values()):
        raise InputError("pooling statistics must be finite float32 numbers", path)
    if any(num_bytes != 4 * math.prod(shape) for shape, _, num_bytes in headers.values()):
        raise InputError("not readable pooling statistics: bytes that are no numbers", path)
    return names


def join(token: np.ndarray, context: np.ndarray) -> np.ndarray:
    """Joins two vectors of each of N sentences, so that cosines use both: [N, D + 1 + H] float32.

    `token` [N, D] are `whitened` means of token rows, `context` [N, H] means of the last layer's
    outputs. Token rows tell which words two sentences share, outputs what they are about. The
    cosine of two joined vectors is a weighted mean of two cosines: that of the outputs has the
    weight `JOINT_CONTEXT`, that of token rows and a constant the rest. Where the rows of the pieces
    of a sentence cancel each other out, their mean is short, and its direction says little. The
    constant makes such sentences less dissimilar. The vectors have length 1; zeros for a sentence
    without pieces.
    """
    has_pieces = np.any(context, axis=1, keepdims=True)
    rows = np.concatenate([token, JOINT_CONSTANT * has_pieces], axis=1)
    shares = (1.0 - JOINT_CONTEXT, rows), (JOINT_CONTEXT, context)
    joined = [np.sqrt(share) * of_length_1(vectors) for share, vectors in shares]
    return np.concatenate(joined, axis=1).astype(np.float32)


def of_length_1(vectors: np.ndarray) -> np.ndarray:
    """The rows [..., D] divided by their lengths; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1.0)


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

    Whitenings are fitted on the first `num_whitening` sentences. Raises InputError if the text has
    too few different sentences for the size of the vectors.
    """
    config, few = lm.config, texts[:num_whitening]
    ids = lm.tokenizer.encode(texts)
    different = {row.tobytes(): len(row) for row in ids[:num_whitening]}
    num_pieces = sum(different.values())
    size = max(lm.engine.vector_sizes[name] for name in lm.pooled_representations)
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
    return PoolingStatistics(probabilities, whitenings)
