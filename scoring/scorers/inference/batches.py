"""Sentences to batches of similar length with a limited number of tokens, and through a model.

Long sentences become overlapping windows; each token is scored where it has most context. The next
results are computed in threads while the caller works on the present one. B batch, T tokens.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tta.doors import option_named
from tta.scoring.scorers.arguments import NOT_FINITE, SentenceError
from tta.scoring.scorers.inference.windows import split_windows


@dataclass(frozen=True)
class Batch:
    """Windows of similar length, padded to the longest.

    Attributes:
        input_ids: [B, T] int32.
        padding_mask: [B, T] bool, True at real tokens.
        keep: [B, T] bool, the tokens whose results are returned.
        text_index: [B] int, the index of each window's text.
    """

    input_ids: np.ndarray
    padding_mask: np.ndarray
    keep: np.ndarray
    text_index: list[int]

    def weights(self, piece_weights: np.ndarray) -> np.ndarray:
        """[B, T] float32: each token's weight in `piece_weights` [V]; 0 if it is not kept.

        Words that are not in the vocabulary, with ids of V or more, have the weight 1.
        """
        is_known = self.input_ids < len(piece_weights)
        return self.keep * np.where(is_known, piece_weights[self.input_ids * is_known], 1.0)


def make_batches(
    tokenizer: Any,
    texts: Iterable[str],
    first_index: int,
    positions: set[str],
    window_size: int,
    batch_tokens: int,
    refuse_long: bool,
) -> list[Batch]:
    """Makes batches, the longest sentences first, so that a lack of memory shows at once.

    Args:
        tokenizer: `tta.data.vocabulary.tokenizer.Tokenizer`.
        texts: sentences.
        first_index: index of the first text; the others follow.
        positions: where tokens are kept: "text" (the pieces), "begin" (the sentence's first token),
            "end" (its last).
        window_size: maximum number of pieces in a window, without the two boundary tokens.
        batch_tokens: maximum of B * T. A longer sentence is a batch of one.
        refuse_long: whether a sentence that is too long is an error. Otherwise it is split into
            windows.

    Raises:
        SentenceError: a sentence is too long and `refuse_long` is true.
    """
    windows = []
    for index, pieces in enumerate(tokenizer.encode(list(texts)), start=first_index):
        if len(pieces) > window_size and refuse_long:
            raise SentenceError(
                f"has {len(pieces)} pieces, the model takes {window_size}; "
                f"{option_named('long_sentences', 'window')} reads it in parts",
                index,
            )
        windows += [(index, pieces, window) for window in split_windows(len(pieces), window_size)]
    windows.sort(key=lambda item: item[2].start - item[2].stop)
    batches = []
    while windows:
        length = windows[0][2].stop - windows[0][2].start + 2
        count = max(1, batch_tokens // length)
        if batches and count > len(windows):
            # Round down to a power of two. TensorFlow keeps 1.5 MB for every new shape, and the
            # remainders of many blocks would have many shapes.
            count = 1 << (len(windows).bit_length() - 1)
        batches.append(_make_batch(windows[:count], length, positions, tokenizer.vocabulary))
        del windows[:count]
    return batches


def _make_batch(windows, length, positions, vocabulary):
    """Pads windows, each (text index, pieces, `Window`), to `length` tokens."""
    ids = np.full((len(windows), length), vocabulary.pad_id, np.int32)
    mask, keep = np.zeros((2, *ids.shape), bool)
    for row, (_, pieces, window) in enumerate(windows):
        stop = window.stop - window.start + 1  # position of the end token
        ids[row, 0], ids[row, stop] = vocabulary.bos_id, vocabulary.eos_id
        ids[row, 1:stop] = pieces[window.start : window.stop]
        mask[row, : stop + 1] = True
        begin = 1 - window.start  # position of the sentence's first piece
        keep[row, window.keep_start + begin : window.keep_stop + begin] = "text" in positions
        keep[row, 0] = "begin" in positions and window.start == 0
        keep[row, stop] = "end" in positions and window.stop == len(pieces)
    return Batch(ids, mask, keep, [index for index, _, _ in windows])


def pad(rows: Sequence[np.ndarray], pad_id: int, width: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pads B rows of ids to the longest, or to a larger width.

    Returns (ids [B, T] int32, padding mask [B, T] bool, True at real tokens).
    """
    lengths = np.array([len(row) for row in rows])
    mask = np.arange(max(width, lengths.max())) < lengths[:, None]
    ids = np.full(mask.shape, pad_id, np.int32)
    ids[mask] = np.concatenate(rows)
    return ids, mask


def run_batches(
    function: Callable[[Batch], np.ndarray],
    batches: Sequence[Batch],
    in_flight: int,
    advance: Callable[[float], None] | None = None,
) -> Iterator[tuple[Batch, np.ndarray]]:
    """Yields (batch, result) of a function on each batch.

    Args:
        function: gives the result [B, ...] of a batch.
        batches: any number.
        in_flight: number of batches that the function works on at a time.
        advance: called after each batch with its share of the tokens.

    Raises:
        SentenceError: a result is not finite, as with weights that are too large.
    """

    size = sum(batch.input_ids.size for batch in batches)
    in_flight = min(in_flight, len(batches))
    results = prefetch(function, batches, in_flight) if in_flight > 1 else map(function, batches)
    for batch, result in zip(batches, results, strict=True):
        for row in np.flatnonzero(~np.isfinite(result.reshape(len(result), -1)).all(axis=1)):
            raise SentenceError(NOT_FINITE, batch.text_index[row])
        yield batch, result
        if advance is not None:
            advance(batch.input_ids.size / size)


def prefetch(
    function: Callable[[Any], Any], items: Iterable[Any], num_threads: int = 1
) -> Iterator[Any]:
    """As `map(function, items)`, with the next results computed ahead in threads.

    This helps if `function` or the caller releases Python's global lock, as TensorFlow does. Items
    are drawn in the caller's thread, `num_threads` ahead of the result that is yielded. So no
    thread waits for standard input, and an interrupt ends the command.

    Args:
        function: called with one item, in a thread, in the order of the items.
        items: any number of items.
        num_threads: number of items in work at the same time, 1 or more.

    Yields:
        `function(item)`, in the order of the items. An exception of `function` is raised at the
        place of its result. The threads end then, and also if the caller stops early.
    """
    from concurrent.futures import ThreadPoolExecutor  # few need it, and it takes 6 ms

    pool = ThreadPoolExecutor(num_threads, thread_name_prefix="prefetch")
    ahead = deque()
    try:
        for item in items:
            ahead.append(pool.submit(function, item))
            if len(ahead) > num_threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
