"""ELMo's likelihood: every token given the tokens before it, and given those after it."""

from typing import Any

from keras import ops

from tta.modeling.kits.types import Tensor
from tta.modeling.layers.masks import inner_weights
from tta.modeling.likelihood.base import Likelihood
from tta.modeling.models.language_model import LanguageModel


class BidirectionalCausalLikelihood(Likelihood):
    """The mean of the log-probabilities of a forward and a backward model.

    This is the sum that ELMo's training maximizes (Peters et al. 2018, section 3.1), divided by 2;
    the perplexities of ELMo are computed from it. It is no distribution over tokens: its
    exponentials do not add up to 1. The begin token has only a backward, the end token only a
    forward probability.
    """

    def token_scores(self, model, inputs, wanted=None, output_table=None):
        """As `Likelihood.token_scores`."""
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
