"""Sentences to batches of about one length under a token budget. B batch, T tokens."""

from dataclasses import dataclass

import numpy as np

from tta.scoring.scorers.scorer import SentenceError
from tta.scoring.scorers.windows import split_windows


@dataclass(frozen=True)
class Batch:
    """Windows of about one length, padded to one.

    Attributes:
        input_ids: [B, T] int32.
        padding_mask: [B, T] bool, True at real tokens.
        keep: [B, T] bool, the tokens that results are asked for.
        text_index: [B] int, whose windows they are.
    """

    input_ids: np.ndarray
    padding_mask: np.ndarray
    keep: np.ndarray
    text_index: list

    def weights(self, piece_weights=None):
        """[B, T] float32: 0 or, where results are kept, 1 or what the piece counts."""
        keep = self.keep.astype(np.float32)
        return keep if piece_weights is None else keep * piece_weights[self.input_ids]


def make_batches(tokenizer, texts, first_index, places, max_length, batch_tokens, refuse_long):
    """A list of `Batch`, longest first: if memory is short, it shows at once.

    Args:
        tokenizer: `tta.data.vocabulary.tokenizer.Tokenizer`.
        texts: an iterable of str.
        first_index: of the first text, int; the others follow.
        places: what is kept of a sentence, some of "text", "begin" and "end", its first and its
            last token.
        max_length: T at most, boundary tokens included.
        batch_tokens: B * T at most, where a sentence has no more.
        refuse_long: whether a sentence that is too long is an error; else it comes in windows.

    Raises:
        SentenceError: a sentence is too long and `refuse_long`.
    """
    vocabulary, size = tokenizer.vocabulary, max_length - 2
    windows = []
    for index, pieces in enumerate(tokenizer.encode(list(texts)), start=first_index):
        if len(pieces) > size and refuse_long:
            raise SentenceError(
                f"has {len(pieces)} pieces, the model takes {size}; "
                "--long_sentences=window reads it in parts",
                index,
            )
        windows += [(index, pieces, window) for window in split_windows(len(pieces), size)]
    windows.sort(key=lambda item: item[2].start - item[2].stop)
    batches = []
    while windows:
        length = windows[0][2].stop - windows[0][2].start + 2
        count = max(1, batch_tokens // length)
        if batches and count > len(windows):
            # Its greatest power of two: TensorFlow keeps 1.5 MB for every new shape, and what
            # is left of many blocks would have as many.
            count = 1 << (len(windows).bit_length() - 1)
        batches.append(_make_batch(windows[:count], length, places, vocabulary))
        del windows[:count]
    return batches


def _make_batch(windows, length, places, vocabulary):
    """The `Batch` of windows, (index, pieces, `Window`) each, padded to `length`."""
    ids = np.full((len(windows), length), vocabulary.pad_id, np.int32)
    mask, keep = np.zeros((2, *ids.shape), bool)
    for row, (_, pieces, window) in enumerate(windows):
        stop = window.stop - window.start + 1  # the end token's place
        ids[row, 0], ids[row, stop] = vocabulary.bos_id, vocabulary.eos_id
        ids[row, 1:stop] = pieces[window.start : window.stop]
        mask[row, : stop + 1] = True
        begin = 1 - window.start  # where the sentence's first piece is, or would be
        keep[row, window.keep_start + begin : window.keep_stop + begin] = "text" in places
        keep[row, 0] = "begin" in places and window.is_first
        keep[row, stop] = "end" in places and window.is_last
    return Batch(ids, mask, keep, [index for index, _, _ in windows])
