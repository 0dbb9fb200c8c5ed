"""Minimum Bayes risk: choosing a hypothesis by its expected loss under the posterior.

Kumar and Byrne, "Minimum Bayes-risk decoding for statistical machine translation", HLT 2004;
Stolcke, König and Weintraub, "Explicit word error minimization in N-best list rescoring", 1997.

The combined scores say how probable each hypothesis of a list is. The hypothesis with the lowest
expected loss is the most similar to all probable ones, a consensus.

L lists, N hypotheses in the longest list.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tta.data.nbest.lists import NBestList
from tta.doors import option_named
from tta.errors import InputError
from tta.scoring.metrics.metric import Metric

# The largest number of pairs of hypotheses of the same list, over all lists; 4 bytes each.
MAX_PAIRS = 250_000_000

_BLOCK_PAIRS = 1_000_000  # of the lists that are multiplied together


@dataclass(frozen=True)
class PairwiseLosses:
    """The loss between all pairs of hypotheses of the same list.

    Attributes:
        blocks: [(rows, losses)], lists of similar lengths: rows [B] int64 are the indices of the
            lists, losses [B, n, n] float32, where n is the longest of these lists. Element
            [b, i, j] is the loss of choosing hypothesis i where j is correct, 0 at padding.
    """

    blocks: Sequence[tuple[np.ndarray, np.ndarray]]

    @classmethod
    def build(cls, nbest: Sequence[NBestList], metric: Metric) -> "PairwiseLosses":
        """Compares the pairs of L lists by the metric's loss; InputError if above `MAX_PAIRS`."""
        lengths = np.array([len(nbest_list.hypotheses) for nbest_list in nbest])
        if not cls.fits_into_memory(nbest):
            longest = nbest[int(lengths.argmax())].utterance_id
            raise InputError(
                f"the decision mbr compares all pairs of a list's hypotheses, and "
                f"{(lengths**2).sum():,} pairs do not fit into memory (list {longest!r} has "
                f"{lengths.max():,} hypotheses): shorten the lists, or choose "
                f"{option_named('decision', 'max')}"
            )
        blocks = []
        for rows in _blocks(lengths):
            losses = np.zeros([len(rows), lengths[rows].max(), lengths[rows].max()], np.float32)
            for block, row in zip(losses, rows, strict=True):
                texts = [h.text for h in nbest[row].hypotheses]
                block[: len(texts), : len(texts)] = metric.losses(texts)
            blocks.append((rows, losses))
        return cls(blocks)

    @staticmethod
    def fits_into_memory(nbest: Sequence[NBestList]) -> bool:
        """Whether the losses of all lists fit into memory."""
        return sum(len(nbest_list.hypotheses) ** 2 for nbest_list in nbest) <= MAX_PAIRS

    def expected(self, posteriors: np.ndarray) -> np.ndarray:
        """The expected loss of choosing each hypothesis: [L, N] -> [L, N] float64.

        expected[i] = sum_j posterior[j] * loss[i, j], within each list.
        """
        expected = np.zeros(posteriors.shape)
        for rows, losses in self.blocks:
            width = losses.shape[1]
            # In float64 but without a copy of the losses: rounding must not break ties.
            expected[rows, :width] = np.einsum("bij,bj->bi", losses, posteriors[rows, :width])
        return expected


def needs_losses(decision: str | None, *parts: Sequence[NBestList]) -> bool:
    """Whether a decision needs the losses between hypotheses: `mbr` does.

    If the decision is free (None), it is `mbr` unless the pairs of some part do not fit into
    memory.
    """
    fits = all(map(PairwiseLosses.fits_into_memory, parts))
    return decision == "mbr" or (decision is None and fits)


def posteriors(present: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """softmax of each list's scores: [L, N] bool, [L, N] float -> [L, N]; 0 at padding."""
    scores = np.where(present, scores, -np.inf)
    highest = scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores - np.where(np.isfinite(highest), highest, 0.0))
    return exponentials / np.maximum(exponentials.sum(axis=1, keepdims=True), 1e-30)


def _blocks(lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Splits lists into blocks of similar lengths: yields [B] int64 indices. Empty lists drop."""
    order = np.argsort(lengths, kind="stable")[np.sort(lengths).searchsorted(1) :]
    while len(order):
        # The last list is the longest, so that the block's width is known.
        count = max(1, _BLOCK_PAIRS // lengths[order[-1]] ** 2)
        yield order[-count:]
        order = order[:-count]
