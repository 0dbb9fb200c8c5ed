"""A softmax with its own table, which is not shared with the input."""

from typing import Any

import keras

from tta.modeling.heads.tied_softmax import TiedSoftmaxHead
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Tensor


@keras.saving.register_keras_serializable("tta")
class SoftmaxHead(TiedSoftmaxHead):
    """As `TiedSoftmaxHead`, with a table of its own: [V, D]. The given table is ignored."""

    def call(self, hidden_states: Tensor, table: Tensor | None = None):
        return super().call(hidden_states, self.table)

    def _log_probabilities(self, kit, table, rows, targets, normalizer):
        """As `Head._log_probabilities`, without a constant copy of the table."""
        return super()._log_probabilities(KerasKit(), self.table, rows, targets, normalizer)

    def loss(self, hidden_states: Any, targets: Any, weights: Any, table: Any = None) -> Any:
        """As `TiedSoftmaxHead.loss`."""
        return super().loss(hidden_states, targets, weights, self.table)
