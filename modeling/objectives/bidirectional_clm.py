"""ELMo's objective: two language models, one left to right and one right to left."""

from keras import ops

from tta.errors import InputError
from tta.modeling.config.training import LossSettings
from tta.modeling.kits.types import Tensor
from tta.modeling.likelihood import likelihood_of
from tta.modeling.likelihood.bidirectional_causal import both, direction_weights
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.base import Batch, Sums, Task, Vocabulary
from tta.modeling.objectives.language_model import TARGET_VECTORS, LanguageModelObjective
from tta.modeling.objectives.vectors import measure_vectors


class BidirectionalCausal(LanguageModelObjective):
    """Predicts every token from those before it, and from those after it (Peters et al. 2018).

    The loss is the mean over both directions, which share the input layer and the head.

    Raises:
        InputError: the config asks for `decorrelation_weight` or `contrast_weight`.
    """

    predicting_output = "predicting_states"

    def __init__(self, vocabulary: Vocabulary | None = None, config: LossSettings | None = None):
        super().__init__(vocabulary, config)
        for name in ("decorrelation_weight", "contrast_weight"):
            if self.setting(name):
                raise InputError(f"{name} is not for the objective bidirectional_clm")

    def language_task(self, batch: Batch) -> Task:
        weights = direction_weights(batch["padding_mask"])
        return Task(batch, both(batch["input_ids"]), weights)

    def at_predictions(self, values: Tensor) -> Tensor:
        return both(values)

    def evaluate(self, model: LanguageModel, batch: Batch) -> Sums:
        """As `Objective.evaluate`; a token counts once for each direction that predicts it."""
        if TARGET_VECTORS not in batch:
            return super().evaluate(model, batch)
        likelihood = likelihood_of(model.config.model_type, self.vocabulary)
        states = likelihood.direction_states(model, batch)
        counted = likelihood.counted(
            batch["padding_mask"], bool(self.setting("score_boundary_tokens"))
        )
        weights = both(counted) * direction_weights(batch["padding_mask"])
        given = both(batch["input_ids"]), both(batch[TARGET_VECTORS]), weights
        measured = measure_vectors(model.head, states, *given)
        # One entry per sentence, of both directions.
        return {
            name: (s, c) if name == "target" else (_added(s), _added(c))
            for name, (s, c) in measured.items()
        }


def _added(values):
    """[2B] of both directions -> [B]."""
    first, second = ops.split(values, 2)
    return first + second
