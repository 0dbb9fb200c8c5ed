"""Texts and pairs of texts to the input of a classifier: begin token, texts, separators.

    [CLS] a [SEP]
    [CLS] a [SEP] b [SEP]

N examples, T_n tokens of example n.
"""

import math
from collections.abc import Sequence

import numpy as np

from tta.data.vocabulary.load import AnyTokenizer

SORTED_BATCHES = 16  # batches whose examples are sorted by length, to need little padding


def encode_rows(
    tokenizer: AnyTokenizer, texts: Sequence[Sequence[str]], max_seq_length: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """Makes the ids of examples: N arrays [T_n] int32, and whether each was cut, [N] bool.

    `texts` are one or two lists of N str: the first texts, and the second. An input of more than
    `max_seq_length` tokens, boundary tokens included, is cut: pieces are removed from the end of
    the longer text, one at a time, as in BERT's run_classifier. So a short question is kept whole
    beside a long answer.
    """
    vocabulary = tokenizer.vocabulary
    begin, end = np.array([[vocabulary.bos_id], [vocabulary.eos_id]], np.int32)
    size = max(0, max_seq_length - 1 - len(texts))
    rows, is_cut = [], []
    for pieces in zip(*map(tokenizer.encode, texts), strict=True):
        lengths = [len(ids) for ids in pieces]
        is_cut.append(sum(lengths) > size)
        if is_cut[-1]:
            lengths = _cut(lengths, size)
        cut = [ids[:length] for ids, length in zip(pieces, lengths, strict=True)]
        rows.append(np.concatenate([begin, *(part for ids in cut for part in (ids, end))]))
    return rows, np.array(is_cut, bool)


def shuffled_batches(lengths: np.ndarray, size: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Batches of an epoch: numbers of N examples, at most `size` in each, in a random order.

    Each example is in one batch. Examples of similar length, by `lengths` [N], are together.
    """
    order = rng.permutation(len(lengths))
    pool = size * SORTED_BATCHES
    pools = [order[i : i + pool] for i in range(0, len(order), pool)]
    order = np.concatenate([pool[np.argsort(lengths[pool], kind="stable")] for pool in pools])
    chosen = [order[i : i + size] for i in range(0, len(order), size)]
    rng.shuffle(chosen)
    return chosen


def _cut(lengths, size):
    """The lengths of one or two texts that are too long; of equal ones, BERT cuts the second."""
    first = min(lengths[0], max(size - sum(lengths[1:]), math.ceil(size / len(lengths))))
    return [first, size - first][: len(lengths)]
