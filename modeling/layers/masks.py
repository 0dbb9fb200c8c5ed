"""Who may attend to whom, and which tokens are inside a sentence.

True = may attend; [B, T] masks positions, [B, T, T] masks pairs.
"""

from keras import ops


def diagonal_mask(mask, positions=None):
    """Every real token but the one that asks: T-TA's mask (paper, section 3.2).

    Args:
        mask: [B, T] bool, True at real tokens; or [B, T (query), T (key)], pairs of which those of
            a token with itself are taken away.
        positions: [Q] int32, the tokens that ask; None is all.

    Returns:
        [B, Q, T (key)] bool.
    """
    keys = queries = ops.arange(ops.shape(mask)[-1])
    pairs = mask[:, None, :] if len(mask.shape) == 2 else mask
    if positions is not None:
        queries = positions
        pairs = pairs if len(mask.shape) == 2 else ops.take(pairs, positions, axis=1)
    off_diagonal = queries[:, None] != keys[None, :]  # [Q, T]
    return ops.logical_and(off_diagonal[None], pairs)


def within_word_mask(padding_mask, word_ids):
    """Every real token but the later pieces of one's own word (Kauf and Ivanova 2023).

    Args:
        padding_mask: [B, T] bool, True at real tokens.
        word_ids: [B, T] int32, the same at all pieces of a word and at no other real token.

    Returns:
        [B, T (query), T (key)] bool.
    """
    positions = ops.arange(ops.shape(padding_mask)[1])
    is_later = positions[:, None] < positions[None, :]  # [T, T]
    same_word = word_ids[:, :, None] == word_ids[:, None, :]  # [B, T, T]
    hidden = ops.logical_and(is_later[None], same_word)
    return ops.logical_and(ops.logical_not(hidden), padding_mask[:, None, :])


def full_mask(padding_mask):
    """Every real token: BERT's mask.

    Args:
        padding_mask: [B, T] bool, True at real tokens.

    Returns:
        [B, 1, T (key)] bool, the same for every query.
    """
    return padding_mask[:, None, :]


def causal_mask(padding_mask):
    """Every real token up to the one that asks, itself included: a left-to-right model's mask.

    Args:
        padding_mask: [B, T] bool, True at real tokens.

    Returns:
        [B, T (query), T (key)] bool.
    """
    positions = ops.arange(ops.shape(padding_mask)[1])
    not_after = positions[:, None] >= positions[None, :]  # [T, T]
    return ops.logical_and(not_after[None], padding_mask[:, None, :])


def inner_weights(padding_mask):
    """1 at real tokens but the first and the last of each sentence: [B, T] float32."""
    nothing = ops.zeros_like(padding_mask[:, :1])
    is_not_last = ops.concatenate([padding_mask[:, 1:], nothing], axis=1)
    is_not_first = ops.arange(ops.shape(padding_mask)[1]) > 0
    inner = ops.logical_and(padding_mask, ops.logical_and(is_not_last, is_not_first))
    return ops.cast(inner, "float32")
