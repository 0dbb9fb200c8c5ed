"""BERT's output head: a softmax over the vocabulary on the tied token table."""

from typing import Any

import keras
from keras import ops

from tta.modeling.config.base import ModelConfig
from tta.modeling.config.training import SAMPLERS
from tta.modeling.functions.heads import log_probabilities
from tta.modeling.heads.base import TransformHead, rows_with_targets
from tta.modeling.heads.cross_entropy import tied_cross_entropy
from tta.modeling.heads.sampled_softmax import Sampler, sampled_cross_entropy
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Tensor


@keras.saving.register_keras_serializable("tta")
class TiedSoftmaxHead(TransformHead):
    """Dense, gelu, LayerNorm, then the product with the token table and a bias.

    Args:
        config: the model's config.
        sampler: draws the pieces in the softmax of a training step. None takes all pieces.
        log_normalizer_weight: weight of the squared log-normalizer in the loss, see
            `tied_cross_entropy`.

    Call:
        hidden_states: [B, T, D].
        table: [V, D], the token embeddings.

    Returns:
        [B, T, V] float32 logits; their softmax is the distribution over the vocabulary.
    """

    output_name = "logits"
    gives_probabilities = True

    def __init__(
        self,
        config: ModelConfig,
        sampler: Sampler | None = None,
        log_normalizer_weight: float = 0.0,
        **kwargs: Any,
    ):
        super().__init__(config, **kwargs)
        self.sampler = sampler
        self.log_normalizer_weight = log_normalizer_weight

    @classmethod
    def training_options(cls, config, counts):
        size = config.num_sampled_pieces
        sampler = SAMPLERS.load(config.sampling)(counts(), size, config.seed) if size else None
        return {"sampler": sampler, "log_normalizer_weight": config.log_normalizer_weight or 0.0}

    def call(self, hidden_states: Tensor, table: Tensor):
        features = ops.cast(self.transform(hidden_states), self.compute_dtype)
        logits = ops.matmul(features, ops.transpose(ops.cast(table, self.compute_dtype)))
        return ops.cast(logits, "float32") + self.bias

    def _log_probabilities(self, kit, table, rows, targets, normalizer):
        """As `Head._log_probabilities`; never holds all logits in memory."""
        return log_probabilities(
            kit, self, self.config, table=table, rows=rows, targets=targets, normalizer=normalizer
        )

    def loss(self, hidden_states, targets, weights, table):
        """As `Head.loss`: -sum(weights * log-probabilities of the targets [B, T] int32), in nats.

        With a `sampler`, the result is an estimate.
        """
        rows, targets, weights = rows_with_targets(hidden_states, targets, weights)
        features = ops.cast(self.transform(rows, training=True), self.compute_dtype)
        penalty = self.log_normalizer_weight
        if self.sampler is None:
            return tied_cross_entropy(
                features, table, self.bias, targets=targets, weights=weights, penalty=penalty
            )
        return sampled_cross_entropy(
            features,
            table,
            self.bias,
            targets=targets,
            weights=weights,
            sampler=self.sampler,
            penalty=penalty,
        )

    def shift_log_normalizer(self, by: float) -> None:
        """Adds `by` to the log-normalizer of every position; log-probabilities do not change."""
        self.bias.assign_add(ops.full_like(self.bias, by))


@keras.saving.register_keras_serializable("tta")
class SoftmaxHead(TiedSoftmaxHead):
    """As `TiedSoftmaxHead`, with a table of its own: [V, D]. The given table is ignored."""

    def call(self, hidden_states: Tensor, table: Tensor | None = None):
        return super().call(hidden_states, self.table)

    def _log_probabilities(self, kit, table, rows, targets, normalizer):
        """As `Head._log_probabilities`, without a constant copy of the table."""
        return super()._log_probabilities(KerasKit(), self.table, rows, targets, normalizer)

    def loss(self, hidden_states: Any, targets: Any, weights: Any, table: Any = None) -> Any:
        return super().loss(hidden_states, targets, weights, self.table)
