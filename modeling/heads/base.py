"""What output heads share: they compute a loss and, if they can, log-probabilities."""

from typing import Any

from tta.errors import InputError
from tta.modeling.layers.base import ConfiguredLayer
from tta.modeling.layers.types import Tensor


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

    def loss(self, hidden_states: Tensor, targets: Tensor, weights: Tensor, table: Tensor) -> Any:
        """The sum of the losses of all targets, times their `weights` [B, T]: [] float32.

        A target of weight 0 is left out. The objective decides the layout of the targets.
        """
        raise NotImplementedError

    def log_probabilities(
        self,
        hidden_states: Tensor,
        table: Tensor,
        targets: Tensor,
        normalizer: str = "exact",
        wanted: Tensor | None = None,
        output_table: Tensor | None = None,
    ) -> Any:
        """As `LanguageModel.log_probabilities`; raises InputError if the head gives none."""
        raise InputError(f"{type(self).__name__} gives no log-probabilities of tokens")
