"""From the vectors of a sentence's pieces to one vector: the mean, and two better ways.

Neither needs labels; what they need to know of text in general is in the model directory, in
`pooling.npz`, which tta-fit-pooling writes.

- `mean`: every piece counts alike (the paper's protocol).
- `sif`: a piece counts a / (a + p), with p its share of all pieces in text, so that "the" hardly
  does (Arora et al., 2017, "A simple but tough-to-beat baseline for sentence embeddings").
- `whitened`: sif of pieces' vectors whose mean over text was taken off, whose directions were
  scaled to vary alike, and whose lengths were then made 1: so that neither a few directions decide
  every cosine (Su et al., 2021, arXiv:2103.15316, for sentences' vectors) nor a few pieces.

V vocabulary, D vector size.
"""

import zipfile
from dataclasses import dataclass

import numpy as np

from tta.data.text.files import open_output
from tta.errors import InputError

POOLINGS = ("mean", "sif", "whitened")
STATISTICS = "pooling.npz"

SIF_A = 1e-3  # Arora et al.'s
# A direction that hardly varies is not blown up further than one of this share of the variance.
_LEAST_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Whitening:
    """A piece's vector -> (vector - mean) matrix, cut or stretched to length 1.

    Attributes:
        mean: [D] float32.
        matrix: [D, D] float32; the products' covariance over text is the identity.
    """

    mean: np.ndarray
    matrix: np.ndarray

    @classmethod
    def fit(cls, mean, covariance):
        """From the mean [D] and the covariance [D, D] of pieces' vectors over text."""
        variances, directions = np.linalg.eigh(covariance)
        variances = np.maximum(variances, _LEAST_VARIANCE * variances.max())
        matrix = directions / np.sqrt(variances)
        return cls(mean.astype(np.float32), matrix.astype(np.float32))

    def __call__(self, vectors):
        """[..., D] float32 tensor -> [..., D] tensor; zeros stay where a vector is the mean."""
        from keras import ops

        vectors = ops.matmul(vectors - self.mean, self.matrix)
        return ops.normalize(vectors, axis=-1, order=2)


@dataclass(frozen=True)
class PoolingStatistics:
    """What poolings know of text in general.

    Attributes:
        piece_probabilities: [V] float32, each piece's share of all pieces; above 0.
        whitenings: {representation: `Whitening`}.
    """

    piece_probabilities: np.ndarray
    whitenings: dict

    def piece_weights(self):
        """How much each piece counts in `sif`: [V] float32, 0 to 1."""
        return (SIF_A / (SIF_A + self.piece_probabilities)).astype(np.float32)

    def save(self, path, overwrite=False):
        """Writes `pooling.npz`, complete or not at all.

        Raises:
            InputError: the file exists and `overwrite` is false, or it cannot be written.
        """
        with open_output(path, overwrite, binary=True) as file:
            self.write(file)

    def write(self, file):
        """Writes the statistics to an open binary file."""
        arrays = {"piece_probabilities": self.piece_probabilities}
        for name, whitening in self.whitenings.items():
            arrays |= {f"{name}.mean": whitening.mean, f"{name}.matrix": whitening.matrix}
        np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path, vocab_size, hidden_size):
        """Reads `pooling.npz`; a zip file, whose checksums tell damage.

        Raises:
            InputError: the file is missing or damaged, or does not fit a model of these sizes.
        """
        try:
            with open(path, "rb") as stream, zipfile.ZipFile(stream) as archive:
                headers = {name: _read_header(archive, name) for name in archive.namelist()}
                names = _check_headers(headers, vocab_size, hidden_size, path)
                arrays = {}
                for name in headers:
                    with archive.open(name) as member:
                        array = np.lib.format.read_array(member, allow_pickle=False)
                        arrays[name.removesuffix(".npy")] = array
        except InputError:
            raise
        except FileNotFoundError:
            raise InputError("no such file; tta-fit-pooling makes it", path) from None
        except Exception as error:  # NumPy, zipfile and zlib raise all kinds of a damaged file
            rule = str(error).partition("\n")[0]
            raise InputError(f"not readable pooling statistics: {rule}", path) from None
        if not all(np.isfinite(array).all() for array in arrays.values()):
            raise InputError("pooling statistics must be finite float32 numbers", path)
        probabilities = arrays["piece_probabilities"]
        if not (probabilities > 0).all():
            raise InputError("a piece's probability must be above 0", path)
        whitenings = {n: Whitening(arrays[f"{n}.mean"], arrays[f"{n}.matrix"]) for n in names}
        return cls(probabilities, whitenings)


def _read_header(archive, name):
    """(shape, dtype) of an array in an npz file: what it says of itself, nothing allocated."""
    with archive.open(name) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise ValueError(f"{name} is in another version of the format")
        shape, _, dtype = np.lib.format.read_array_header_1_0(member)
    return shape, dtype


def _check_headers(headers, vocab_size, hidden_size, path):
    """The representations that have a whitening in a file; fails where its arrays are others."""
    names = {name.partition(".")[0] for name in headers} - {"piece_probabilities"}
    expected = {"piece_probabilities.npy": (vocab_size,)}
    expected |= {f"{name}.mean.npy": (hidden_size,) for name in names}
    expected |= {f"{name}.matrix.npy": (hidden_size, hidden_size) for name in names}
    if any(dtype.hasobject for _, dtype in headers.values()):
        raise InputError("not readable pooling statistics: a pickle, which could run code", path)
    if {name: shape for name, (shape, _) in headers.items()} != expected:
        raise InputError("not the pooling statistics of this model: other arrays", path)
    if any(dtype != np.float32 for _, dtype in headers.values()):
        raise InputError("pooling statistics must be finite float32 numbers", path)
    return names


def piece_probabilities(ids, vocab_size):
    """Each piece's share of all pieces, half a piece added to each count.

    Args:
        ids: a list of int arrays, the pieces of many sentences.
        vocab_size: V.

    Returns:
        [V] float32, above 0, their sum 1.
    """
    counts = np.bincount(np.concatenate([np.zeros(0, np.int64), *ids]), minlength=vocab_size) + 0.5
    return (counts / counts.sum()).astype(np.float32)


def fit_pooling(lm, texts, num_whitening, progress=False):
    """Fits the statistics of a model on text.

    Args:
        lm: `tta.scoring.scorers.text_model.TextModel` with a tokenizer.
        texts: str, many sentences in random order.
        num_whitening: how many of them, from the first, the whitenings are fitted on.
        progress: whether to show progress bars.

    Returns:
        `PoolingStatistics`.

    Raises:
        InputError: too few pieces for the model's vectors.
    """
    config, few = lm.model.config, texts[:num_whitening]
    ids = lm.tokenizer.encode(texts)
    num_pieces = sum(map(len, ids[:num_whitening]))
    if num_pieces <= config.hidden_size:
        raise InputError(
            f"whitening vectors of {config.hidden_size} numbers takes more pieces of text than "
            f"that, not {num_pieces}"
        )
    probabilities = piece_probabilities(ids, config.vocab_size)
    weights = PoolingStatistics(probabilities, {}).piece_weights()
    whitenings = {
        name: Whitening.fit(*lm.piece_moments(few, name, weights, progress=progress))
        for name in lm.pooled_representations
    }
    return PoolingStatistics(probabilities, whitenings)
