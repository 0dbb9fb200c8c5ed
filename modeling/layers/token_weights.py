"""Which tokens count in a loss or a mean. A padding mask is [B, T] bool, True at real tokens.

Attention masks are in `functions/masks.py`.
"""

from typing import Any

from keras import ops

from tta.modeling.kits.types import Tensor


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
