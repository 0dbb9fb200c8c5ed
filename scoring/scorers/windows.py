"""Sentences longer than the model: overlapping windows, each token scored where it sees most."""

import itertools
from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """A stretch of a sentence that the model reads at once, and the part it answers for.

    Attributes:
        start, stop: the pieces that it reads.
        keep_start, keep_stop: the pieces whose results are taken from it; over the windows of a
            sentence these parts follow each other without gap or overlap.
        is_first, is_last: whether the sentence begins or ends in it.
    """

    start: int
    stop: int
    keep_start: int
    keep_stop: int
    is_first: bool
    is_last: bool


def split_windows(num_pieces, size):
    """Covers a sentence with windows that overlap by at least half.

    Where two windows overlap, each answers for the half nearer to its own middle, so that every
    piece has at least a quarter of a window as context on both sides, but for the sentence's ends.

    Args:
        num_pieces: pieces of the sentence, boundary tokens not counted.
        size: the most pieces a window holds, at least 1.

    Returns:
        A list of `Window`; one that reads and keeps everything where the sentence fits.
    """
    stride = max(1, size // 2)
    starts = [0]
    while starts[-1] + size < num_pieces:
        starts.append(min(starts[-1] + stride, num_pieces - size))
    cuts = [0]
    for before, after in itertools.pairwise(starts):
        cuts.append((after + before + size) // 2)  # the middle of their overlap
    cuts.append(num_pieces)
    return [
        Window(
            start,
            min(start + size, num_pieces),
            cuts[i],
            cuts[i + 1],
            is_first=i == 0,
            is_last=i == len(starts) - 1,
        )
        for i, start in enumerate(starts)
    ]
