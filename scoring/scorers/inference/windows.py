"""Overlapping windows over long sentences; each token is scored where it has most context.

The exports copy this file, so it imports nothing of the package.
"""

import itertools
from typing import NamedTuple


class Window(NamedTuple):
    """A part of a sentence that the model reads in one input.

    Attributes:
        start, stop: the pieces that it reads.
        keep_start, keep_stop: the pieces whose results are taken from it. In all windows of a
            sentence together, these parts cover every piece once.
    """

    start: int
    stop: int
    keep_start: int
    keep_stop: int


def split_windows(num_pieces: int, size: int) -> list[Window]:
    """Covers a sentence with windows that overlap by at least half.

    Of an overlap, each window keeps the half nearer to its own middle. So every piece has at least
    a quarter of a window as context on both sides, except near the ends of the sentence.

    Args:
        num_pieces: number of pieces in the sentence, without boundary tokens.
        size: maximum number of pieces in a window, at least 1.

    Returns:
        The windows in order. A sentence that fits has one window, which keeps everything.
    """
    stride = max(1, size // 2)
    starts = [0]
    while starts[-1] + size < num_pieces:
        starts.append(min(starts[-1] + stride, num_pieces - size))
    middles = [(after + before + size) // 2 for before, after in itertools.pairwise(starts)]
    spans = itertools.pairwise([0, *middles, num_pieces])  # overlaps are cut in the middle
    return [
        Window(start, min(start + size, num_pieces), *keep)
        for start, keep in zip(starts, spans, strict=True)
    ]
