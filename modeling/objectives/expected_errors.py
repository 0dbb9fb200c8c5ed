"""MWER, minimum word error rate: training on N-best lists by their expected numbers of errors.

Prabhavalkar et al., 2018, "Minimum word error rate training for attention-based
sequence-to-sequence models"; Xu et al., 2022, "RescoreBERT". It is not in `OBJECTIVES`, whose
objectives train on text alone.

L lists, H hypotheses in a list, B sentences (a long hypothesis may be several), T tokens.
"""

from keras import ops

from tta.modeling.kits.types import Tensor
from tta.modeling.likelihood import Likelihood
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.base import Batch, Loss, Objective, Task


class ExpectedErrors(Objective):
    """The expected number of errors of a list, minus its mean number: a mean over the lists.

    The loss is mean_l sum_h p(h) * (errors(h) - mean errors of the list), where
    p = softmax(other_scores + sum_t(token_weights * token scores)) over the list. The mean changes
    no gradient. It makes the loss negative where the model is better than chance. The model has no
    dropout in it, because the scores are those of reranking. The part "expected_errors" is
    sum_h p(h) * errors(h), a mean over the lists.

    A batch has

    - "input_ids": [B, T] int32.
    - "padding_mask": [B, T] bool, True at real tokens.
    - "token_weights": [B, T] float32, the weight of each token's score in the combined score of its
      hypothesis; 0 leaves it out.
    - "places": [B] int32, the hypothesis of each sentence, h + H * l for hypothesis h of list l.
    - "other_scores": [L, H] float32, the combined scores without the part of the model.
    - "errors": [L, H] float32, the number of errors of each hypothesis.
    - "present": [L, H] bool, False at padding. Every list has a hypothesis.

    Args:
        likelihood: scores the tokens of the model.
    """

    def __init__(self, likelihood: Likelihood):
        super().__init__()
        self.likelihood = likelihood

    def task(self, batch: Batch, step: Tensor | int) -> Task:
        return Task(batch, batch["errors"], ops.ones_like(batch["errors"][:, 0]))

    def loss(self, model: LanguageModel, task: Task) -> Loss:
        batch = task.inputs
        probabilities = self._probabilities(model, batch)
        present = ops.cast(batch["present"], "float32")
        errors = task.targets * present
        mean = ops.sum(errors, axis=1, keepdims=True) / ops.sum(present, axis=1, keepdims=True)
        relative = (errors - mean) * present
        weights = task.weights[:, None]
        return Loss(
            ops.sum(weights * probabilities * relative),
            {"expected_errors": ops.sum(weights * probabilities * errors)},
        )

    def _probabilities(self, model, batch):
        """[L, H] float32, those of the hypotheses of each list."""
        inputs = {name: batch[name] for name in ("input_ids", "padding_mask")}
        weights = batch["token_weights"]
        token_scores = self.likelihood.token_scores(model, inputs, weights > 0)
        scores = ops.sum(token_scores * weights, axis=1)
        shape = ops.shape(batch["errors"])
        by_place = ops.segment_sum(scores, batch["places"], shape[0] * shape[1])
        combined = ops.reshape(by_place, shape) + batch["other_scores"]
        return ops.softmax(ops.where(batch["present"], combined, -1e9), axis=1)
