"""Who may attend to whom. True = may attend; [B, T] masks positions, [B, T, T] masks pairs."""

from keras import ops


def diagonal_mask(padding_mask):
    """Every real token but the one that asks: T-TA's mask (paper, section 3.2).

    Args:
        padding_mask: [B, T] bool, True at real tokens.

    Returns:
        [B, T (query), T (key)] bool.
    """
    positions = ops.arange(ops.shape(padding_mask)[1])
    off_diagonal = positions[:, None] != positions[None, :]  # [T, T]
    return ops.logical_and(off_diagonal[None], padding_mask[:, None, :])


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
