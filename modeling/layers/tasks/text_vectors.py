"""What a classifier reads of texts: the vector of a text, and what compares the vectors of two.

B texts, T tokens, D size of a vector.
"""

from collections.abc import Sequence
from typing import Any

from keras import ops

from tta.modeling.kits.types import Tensor


def weighted_mean(states: Tensor, weights: Tensor) -> Any:
    """The mean of states [B, T, D] by weights [B, T]: [B, D] float32; 0 without any weight."""
    weights = weights[..., None]
    sums = ops.sum(ops.cast(states, "float32") * weights, axis=1)
    return sums / ops.maximum(ops.sum(weights, axis=1), 1.0)


def maximum(states: Tensor, mask: Tensor) -> Any:
    """The maximum of states [B, T, D] where a mask [B, T] is True: [B, D]; 0 where it never is."""
    mask = mask[..., None]
    lowest = ops.max(ops.where(mask, states, -float("inf")), axis=1)
    return ops.where(ops.any(mask, axis=1), lowest, 0.0)


def compared(vectors: Sequence[Tensor]) -> Any:
    """Of two vectors u, v [B, D]: u, v, |u - v| and u * v, side by side, [B, 4D]; one stays.

    Conneau et al. 2017, "Supervised learning of universal sentence representations", section 3.1.
    """
    if len(vectors) == 1:
        return vectors[0]
    u, v = vectors
    return ops.concatenate([u, v, ops.abs(u - v), u * v], axis=-1)
