"""What output heads share: they compute a loss and, if they can, log-probabilities."""

from typing import Any

import keras
import numpy as np
from keras import ops

from tta.errors import InputError
from tta.modeling.functions.heads import scores_where, transform
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import ConfiguredLayer


class Head(ConfiguredLayer):
    """The interface of every head.

    B batch, T tokens, D hidden size, V vocabulary. A table that a head shares with the encoder
    (tied embeddings) is an argument of each call, not a weight of the head.

    Args:
        config: the model's config. Arguments for training alone come from `training_options`.

    Call:
        hidden_states: [B, T, D].
        table: [V, D], the token table, or None if the encoder has none.

    Returns:
        [B, T, ...] float32, the output that `output_name` names.
    """

    # The key of the call's result among the outputs of a model.
    output_name = "outputs"
    # Whether `log_probabilities` has a result, so that models with this head score sentences.
    gives_probabilities = False
    # Whether it has the method `undo_standardization`, see `LanguageModel.standardize_outputs`.
    can_undo_standardization = False

    def build(self, hidden_states_shape: Shape, table_shape: Shape | None = None):
        config = self.config
        self.add_weights(config.head.weights(config), config.layer_norm_eps)

    @classmethod
    def training_options(cls, config: Any, counts: Any) -> dict[str, Any]:
        """The arguments of a head for training by a `PretrainingConfig`.

        `counts` is a function that returns how often each piece occurs, [V] int64. Raises
        InputError if the head cannot do what the config asks for.
        """
        for name in ("num_sampled_pieces", "log_normalizer_weight"):
            if getattr(config, name):
                raise InputError(f"{name} needs a softmax, which {cls.__name__} does not compute")
        return {}

    def loss(self, hidden_states: Tensor, targets: Tensor, weights: Tensor, table: Any) -> Any:
        """The sum of the losses of all targets, times their `weights` [B, T]: [] float32.

        A target of weight 0 is left out. The objective decides the layout of the targets.
        """
        raise NotImplementedError

    def log_probabilities(
        self,
        hidden_states: Tensor,
        table: Tensor | None,
        targets: Tensor,
        normalizer: str = "exact",
        wanted: Tensor | None = None,
        output_table: Tensor | None = None,
    ) -> Any:
        """As `LanguageModel.log_probabilities`; raises InputError if the head gives none."""
        if not self.gives_probabilities:
            raise InputError(f"{type(self).__name__} gives no log-probabilities of tokens")
        kit = KerasKit(output_table=output_table)

        def score(rows, targets):
            return self._log_probabilities(kit, table, rows, targets, normalizer)

        return scores_where(
            kit, score, self.config.hidden_size, hidden_states, targets=targets, wanted=wanted
        )

    def _log_probabilities(self, kit, table, rows, targets, normalizer):
        """As `log_probabilities`, for rows [M, D] and targets [M]: [M] float32."""
        raise NotImplementedError

    def compute_input_in_float32(self) -> None:
        """Makes the product with the hidden states more precise in mixed_bfloat16, if it can."""

    @property
    def output_size(self) -> int:
        """Numbers of the output for each token."""
        return self.config.vocab_size

    def compute_output_shape(self, hidden_states_shape: Shape, table_shape: Shape | None = None):
        return (*hidden_states_shape[:-1], self.output_size)


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
