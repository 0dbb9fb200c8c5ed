"""What output heads share: they compute a loss and, if they can, log-probabilities."""

from typing import Any

from tta.errors import InputError
from tta.modeling.functions.heads import scores_where
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

        `counts` is a function that returns how often each piece occurs, [V] int64.

        Raises:
            InputError: the head cannot do what the config asks for.
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

        return scores_where(kit, score, self.config.hidden_size, hidden_states, targets, wanted)

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
