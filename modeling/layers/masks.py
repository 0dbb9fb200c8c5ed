"""Attention masks, and the weights of the tokens inside a sentence.

A padding mask is [B, T] bool, True at real tokens. An attention mask is [B, T (query), T (key)]
bool, True = may attend.
"""

from typing import Any

from keras import ops

from tta.modeling.layers.types import Tensor


def diagonal_mask(mask: Tensor, positions: Tensor | None = None) -> Any:
    """T-TA's attention mask: all real tokens except the query token (paper, section 4.2.1).

    `mask` is a padding mask, or an attention mask whose diagonal is removed. With the `positions`
    [Q] int32 of some queries, the result is [B, Q, T (key)] bool; None means all.
    """
    keys = queries = ops.arange(ops.shape(mask)[-1])
    pairs = mask[:, None, :] if len(mask.shape) == 2 else mask
    if positions is not None:
        queries = positions
        pairs = pairs if len(mask.shape) == 2 else ops.take(pairs, positions, axis=1)
    off_diagonal = queries[:, None] != keys[None, :]  # [Q, T]
    return ops.logical_and(off_diagonal[None], pairs)


def within_word_mask(padding_mask: Tensor, word_ids: Tensor) -> Any:
    """All real tokens except the later pieces of the query's word (Kauf and Ivanova 2023).

    `word_ids`, [B, T] int32, are equal at all pieces of a word and different at all other real
    tokens.
    """
    positions = ops.arange(ops.shape(padding_mask)[1])
    is_later = positions[:, None] < positions[None, :]  # [T, T]
    same_word = word_ids[:, :, None] == word_ids[:, None, :]  # [B, T, T]
    hidden = ops.logical_and(is_later[None], same_word)
    return ops.logical_and(ops.logical_not(hidden), padding_mask[:, None, :])


def full_mask(padding_mask: Tensor) -> Any:
    """BERT's attention mask: all real tokens for every query, [B, 1, T (key)] bool."""
    return padding_mask[:, None, :]


def causal_mask(padding_mask: Tensor) -> Any:
    """A left-to-right model's attention mask: real tokens up to and including the query token."""
    positions = ops.arange(ops.shape(padding_mask)[1])
    not_after = positions[:, None] >= positions[None, :]  # [T, T]
    return ops.logical_and(not_after[None], padding_mask[:, None, :])


def anticausal_mask(padding_mask: Tensor) -> Any:
    """A right-to-left model's attention mask: real tokens from the query token on."""
    positions = ops.arange(ops.shape(padding_mask)[1])
    not_before = positions[:, None] <= positions[None, :]  # [T, T]
    return ops.logical_and(not_before[None], padding_mask[:, None, :])


def last_hidden(positions: Tensor, padding_mask: Tensor, word_ids: Tensor | None = None) -> Any:
    """The last token that the prediction of a token must not know: [B or 1, Q] int32.

    It is the token itself, one of the `positions` [Q] int32; with `word_ids` [B, T] int32, as in
    `within_word_mask`, the last piece of its word.
    """
    if word_ids is None:
        return positions[None]
    tokens = ops.arange(ops.shape(padding_mask)[1])
    words = ops.take(word_ids, positions, axis=1)
    same_word = ops.logical_and(words[:, :, None] == word_ids[:, None], padding_mask[:, None])
    # With an initial value, because there may be no positions at all.
    last = ops.max(ops.where(same_word, tokens, 0), axis=-1, initial=0)
    return ops.maximum(positions, last)


def two_sided_mask(positions: Tensor, last: Tensor, padding_mask: Tensor) -> Any:
    """The mask of a query that reads two streams, one after the other: [B, Q, 2T (key)] bool.

    Query i sees the forward states of real tokens before token i, and the backward states of those
    after its last hidden token. A state has seen all tokens in its direction up to its own, so it
    knows none of the hidden tokens. `last` [B or 1, Q] int32 is from `last_hidden`, whose other
    arguments these are, too.
    """
    keys = ops.arange(ops.shape(padding_mask)[1])
    is_real = padding_mask[:, None]  # [B, 1, T]
    is_before = ops.logical_and(keys < positions[:, None], is_real)
    is_after = ops.logical_and(keys > last[..., None], is_real)
    return ops.concatenate([is_before, is_after], axis=-1)


def relative_distances(queries: Tensor, keys: Tensor) -> Any:
    """Position of the key minus position of the query: [Q] and [S] int32 -> [Q, S] int32."""
    return keys[None, :] - queries[:, None]


def lowest_positions(values: Tensor, allowed: Tensor, counts: Tensor) -> Any:
    """Where the lowest numbers of each row of values [B, T] are: [B, T] bool.

    They are chosen among the `allowed` positions, [B, T] bool; `counts` [B, 1] int32 says how many:
    all of them if there are fewer.
    """
    ranks = ops.argsort(ops.argsort(ops.where(allowed, values, float("inf")), axis=1), axis=1)
    return ops.logical_and(allowed, ops.cast(ranks, "int32") < counts)


def weights_after_first(padding_mask: Tensor) -> Any:
    """1 at all real tokens except the first of each sentence, else 0: [B, T] float32."""
    is_later = ops.arange(ops.shape(padding_mask)[1]) > 0
    return ops.cast(ops.logical_and(padding_mask, is_later), "float32")


def inner_weights(padding_mask: Tensor) -> Any:
    """1 at all real tokens except the first and last of each sentence, else 0: [B, T] float32."""
    nothing = ops.zeros_like(padding_mask[:, :1])
    is_not_last = ops.concatenate([padding_mask[:, 1:], nothing], axis=1)
    is_not_first = ops.arange(ops.shape(padding_mask)[1]) > 0
    inner = ops.logical_and(padding_mask, ops.logical_and(is_not_last, is_not_first))
    return ops.cast(inner, "float32")
