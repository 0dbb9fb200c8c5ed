"""Reads sentences from their end: what a backward LSTM sees."""

from typing import Any

from keras import ops

from tta.modeling.kits.types import Tensor


def reverse_sentences(x: Tensor, padding_mask: Tensor) -> Any:
    """Reverses the real tokens of each sentence [B, T, ...] and leaves the padding where it is.

    Real tokens, where the `padding_mask` [B, T] is True, come first. Applied twice, it gives x.
    """
    positions = ops.arange(ops.shape(x)[1])[None]  # [1, T]
    lengths = ops.sum(ops.cast(padding_mask, "int32"), axis=1, keepdims=True)
    positions = ops.where(positions < lengths, lengths - 1 - positions, positions)  # [B, T]
    positions = ops.reshape(positions, (*ops.shape(positions), *[1] * (len(x.shape) - 2)))
    return ops.take_along_axis(x, positions, axis=1)
