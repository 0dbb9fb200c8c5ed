"""ELMo's two directions: how they are trained, and how they score tokens (Peters et al. 2018).

B batch, T tokens, D hidden size.
"""

from typing import Any

from keras import ops

from tta.errors import InputError
from tta.modeling.config.training import LossSettings
from tta.modeling.kits.types import Tensor
from tta.modeling.layers.token_weights import inner_weights
from tta.modeling.likelihood import Likelihood, likelihood_of
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.base import Batch, Sums, Task, Vocabulary
from tta.modeling.objectives.language_model import (
    MEASURES,
    TARGET_VECTORS,
    LanguageModelObjective,
)


class BidirectionalCausal(LanguageModelObjective):
    """Predicts every token from those before it, and from those after it (Peters et al. 2018).

    The loss is the mean over both directions, which share the input layer and the head. Raises
    InputError if the config asks for `decorrelation_weight` or `contrast_weight`.
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
        measured = MEASURES.load(TARGET_VECTORS).measure_vectors(
            model.head,
            states,
            ids=both(batch["input_ids"]),
            targets=both(batch[TARGET_VECTORS]),
            weights=weights,
        )
        # One entry per sentence, of both directions.
        return {name: (_added(sums), _added(counts)) for name, (sums, counts) in measured.items()}


class BidirectionalCausalLikelihood(Likelihood):
    """ELMo's: the mean of the log-probabilities of a forward and a backward model.

    This is the sum that ELMo's training maximizes (Peters et al. 2018, section 3.1), divided by 2;
    the perplexities of ELMo are computed from it. It is no distribution over tokens: its
    exponentials do not add up to 1. The begin token has only a backward, the end token only a
    forward probability.
    """

    def token_scores(self, model, inputs, wanted=None, output_table=None):
        states = self.direction_states(model, inputs)
        wanted = None if wanted is None else both(wanted)
        targets = both(inputs["input_ids"])
        scores = model.log_probabilities(states, targets, wanted, self.normalizer, output_table)
        return mean_of_directions(scores, inputs["padding_mask"])

    def direction_states(self, model: LanguageModel, inputs: dict[str, Any]) -> Any:
        """The states that predict each token, forward, then backward: [2B, T, D] float32."""
        return model.encode(self.visible(model, inputs), training=False)["predicting_states"]

    def predictions(self, model, inputs, wanted=None):
        """As `Likelihood.predictions`, for a head that predicts vectors: the mean of the two."""
        predicted = model.head.comparable(model.head(self.direction_states(model, inputs)))
        return mean_of_directions(predicted, inputs["padding_mask"])

    def predicting_states(self, model, inputs, wanted=None):
        """Raises NotImplementedError: each token has two states, see `direction_states`."""
        raise NotImplementedError("see direction_states")


def both(values: Tensor) -> Any:
    """The values of tokens [B, ...] for both directions: [2B, ...]."""
    return ops.concatenate([values, values])


def mean_of_directions(values: Tensor, padding_mask: Tensor) -> Any:
    """The mean over the directions that predict a token: [2B, T, ...] -> [B, T, ...]."""
    weights = direction_weights(padding_mask)
    weights = ops.reshape(weights, (*ops.shape(weights), *[1] * (len(values.shape) - 2)))
    forward, backward = ops.split(values * weights, 2)
    return (forward + backward) / ops.maximum(sum(ops.split(weights, 2)), 1.0)


def direction_weights(padding_mask: Tensor) -> Any:
    """1 where a direction predicts a token, else 0: [B, T] bool -> [2B, T] float32."""
    tokens = ops.cast(padding_mask, "float32")
    inner = inner_weights(padding_mask)
    is_first = ops.cast(ops.arange(ops.shape(tokens)[1]) == 0, "float32")
    is_last = tokens - inner - is_first * tokens
    return ops.concatenate([inner + is_last, inner + is_first * tokens])


def _added(values):
    """[2B, ...] of both directions -> [B, ...]."""
    first, second = ops.split(values, 2)
    return first + second
