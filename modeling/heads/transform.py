"""What BERT's head and SemFit share: dense, activation and LayerNorm of rows with a target."""

from typing import Any

import keras
import numpy as np
from keras import ops

from tta.modeling.functions.heads import transform
from tta.modeling.heads.base import Head
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Tensor

# Training pads rows to multiples of this number, because XLA compiles functions for each number.
TRAINING_ROWS_STEP = 128


class TransformHead(Head):
    """A head that begins with dense, activation and LayerNorm, as BERT's does.

    A family whose config has `head_transform` False leaves them out.
    """

    can_undo_standardization = True

    def transform(self, hidden_states: Tensor, training: bool = False):
        """[..., D] -> [..., D] float32, the features for the last product of the head."""
        size = hidden_states.shape[-1]
        rows = ops.reshape(hidden_states, (-1, size))
        rows = transform(KerasKit(training), self, self.config, rows)
        return ops.reshape(rows, ops.shape(hidden_states))

    def compute_input_in_float32(self):
        if self.config.head_transform:
            self.transform_dense.dtype_policy = "float32"

    def undo_standardization(self, mean: np.ndarray, deviation: np.ndarray) -> None:
        """Changes the first product so that inputs (x - mean) / deviation give the same outputs."""
        dense: Any = self.transform_dense
        kernel = np.asarray(dense.kernel, np.float64)  # [D, D]
        dense.bias.assign(np.asarray(dense.bias) + mean @ kernel)
        dense.kernel.assign(deviation[:, None] * kernel)


def rows_with_targets(
    hidden_states: Tensor, targets: Tensor, weights: Tensor
) -> tuple[Any, Any, Any]:
    """The rows of weight above 0, so that the others cost nothing and change no bit of the loss.

    These others are padding, and all unmasked tokens of a masked LM. The rows are padded to a
    multiple of `TRAINING_ROWS_STEP` with copies of the first one, with weight 0.

    Takes hidden states [B, T, D], targets [B, T] or [B, T, m], and weights [B, T] float32. Returns
    (rows [M, D], targets [M] or [M, m], weights [M]).
    """
    weights = ops.reshape(weights, (-1,))
    if keras.config.backend() == "jax":
        positions = ops.arange(ops.shape(weights)[0])
    else:
        positions = ops.nonzero(weights)[0]
    missing = -ops.shape(positions)[0] % TRAINING_ROWS_STEP
    weights = ops.pad(ops.take(weights, positions), [[0, missing]])
    positions = ops.concatenate([positions, ops.repeat(positions[:1], missing)])
    targets = ops.take(ops.reshape(targets, (-1, *targets.shape[2:])), positions, axis=0)
    rows = ops.take(ops.reshape(hidden_states, (-1, hidden_states.shape[-1])), positions, axis=0)
    return rows, targets, weights
