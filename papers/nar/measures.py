"""Measures of reconstructions and of latent vectors. N texts, T_n tokens, P dimensions of a vector.

A row is the ids of a text with begin and end token; the pieces are those between the two.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from tta.papers.nar.config import ACTIVE_VARIANCE

# The aggregate posterior is the mixture over a block of texts: at most this many.
BLOCK = 1000


@dataclass(frozen=True)
class Hits:
    """How many of the pieces of each of N texts are right.

    Attributes:
        right: [N] int, pieces that are right at their position.
        pieces: [N] int, all pieces.
        exact: [N] bool, whether the whole text is right.
    """

    right: np.ndarray
    pieces: np.ndarray
    exact: np.ndarray

    def accuracy(self, chosen: np.ndarray | None = None) -> float:
        """Right pieces of all texts, or of chosen ones [N] bool, in percent."""
        keep = slice(None) if chosen is None else chosen
        return 100.0 * float(self.right[keep].sum() / self.pieces[keep].sum())

    def exact_match(self) -> float:
        """Texts that are right as a whole, in percent."""
        return 100.0 * float(self.exact.mean())


def hits(
    rows: Sequence[np.ndarray],
    found: Sequence[np.ndarray],
    eos_id: int | None = None,
    unk_id: int | None = None,
) -> Hits:
    """Compares the pieces of N rows with those of N reconstructions, position by position.

    A reconstruction may be shorter or longer than the text. With `eos_id`, it ends before its
    first end token; without, its last token is the end token, whatever it is. A piece `unk_id` is
    never right: it stands for any unknown word.
    """
    right, exact = np.zeros(len(rows), int), np.zeros(len(rows), bool)
    for index, (row, other) in enumerate(zip(rows, found, strict=True)):
        pieces, written = row[1:-1], other[1:-1]
        if eos_id is not None:
            written = other[1:]
            ends = np.flatnonzero(written == eos_id)
            written = written[: ends[0]] if len(ends) else written
        shared = min(len(pieces), len(written))
        is_right = (pieces[:shared] == written[:shared]) & (pieces[:shared] != unk_id)
        right[index] = is_right.sum()
        exact[index] = len(pieces) == len(written) and right[index] == len(pieces)
    return Hits(right, np.array([len(row) - 2 for row in rows], int), exact)


def most_frequent(rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each row with, at each position, the piece that most rows have there.

    It is counted in the rows themselves, so it is right more often than in other texts. Of equally
    frequent pieces, the one with the lower id counts.
    """
    longest = max(map(len, rows))
    counts = [Counter() for _ in range(longest)]
    for row in rows:
        for position, piece in enumerate(row[1:-1].tolist(), 1):
            counts[position][piece] += 1
    best = [min(c, key=lambda piece: (-c[piece], piece)) for c in counts if c]
    return [np.array([row[0], *best[: len(row) - 2], row[-1]], np.int32) for row in rows]


def divergences(mean: np.ndarray, log_variance: np.ndarray) -> np.ndarray:
    """KL of each text's normal distribution from the standard normal one: [N] float64, nats."""
    mean, log_variance = mean.astype(np.float64), log_variance.astype(np.float64)
    return 0.5 * (mean**2 + np.expm1(log_variance) - log_variance).sum(axis=1)


def active_units(mean: np.ndarray) -> int:
    """Numbers of the latent vector whose variance over the texts is above `ACTIVE_VARIANCE`."""
    return int((mean.astype(np.float64).var(axis=0) > ACTIVE_VARIANCE).sum())


def mutual_information(mean: np.ndarray, log_variance: np.ndarray, seed: int = 0) -> float:
    """I(x; z) of text and latent vector, in nats: KL(q(z | x) || p(z)) - KL(q(z) || p(z)).

    The mean over the texts, whose mean and log-variance are [N, P]. q(z) is the mixture over a
    block of at most `BLOCK` texts (Hoffman and Johnson 2016; He et al. 2019, section 3). It is at
    most the logarithm of the block's size. One vector is drawn per text, by `seed`.
    """
    mean, log_variance = mean.astype(np.float64), log_variance.astype(np.float64)
    rng, total = np.random.default_rng(seed), 0.0
    for block in np.array_split(np.arange(len(mean)), -(-len(mean) // BLOCK)):
        m, v = mean[block], log_variance[block]
        noise = rng.normal(size=m.shape)
        drawn = m + np.exp(v / 2) * noise
        log_posterior = -0.5 * (noise**2 + v).sum(axis=1)
        # log q(z_i | x_j) for all i and j, without the terms that both sides share. The squares
        # are products of matrices: [n, n, P] would not fit.
        precision = np.exp(-v)
        squares = drawn**2 @ precision.T - 2 * drawn @ (m * precision).T
        all_of = -0.5 * (squares + (m**2 * precision + v).sum(axis=1))
        mixture = logsumexp(all_of, axis=1) - np.log(len(block))
        total += (log_posterior - mixture).sum()
    return float(total / len(mean))
