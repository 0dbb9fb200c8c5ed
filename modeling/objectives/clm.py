"""CLM, causal language modeling: uniLM's objective."""

from keras import ops

from tta.modeling.kits.types import Tensor
from tta.modeling.likelihood.base import next_tokens
from tta.modeling.objectives.base import Batch, Task
from tta.modeling.objectives.language_model import LanguageModelObjective


class CausalLanguageModeling(LanguageModelObjective):
    """Predicts every token from the tokens before it. The begin token is never a target."""

    def language_task(self, batch: Batch) -> Task:
        inputs, targets, is_target = next_tokens(batch)
        return Task(inputs, targets, ops.cast(is_target, "float32"))

    def at_predictions(self, values: Tensor) -> Tensor:
        return values[:, 1:]
