"""MWER, minimum word error rate: training on N-best lists by their expected numbers of errors.

Prabhavalkar et al., 2018, "Minimum word error rate training for attention-based
sequence-to-sequence models"; Xu et al., 2022, "RescoreBERT". It is no `Objective`, because its
examples are lists, and its loss is a mean over lists instead of tokens.

L lists, H hypotheses in a list, B sentences (a long hypothesis may be several), T tokens.
"""

from typing import Any, NamedTuple

from keras import ops

from tta.modeling.objectives.base import Loss


class ListBatch(NamedTuple):
    """Lists of hypotheses for a training step.

    Attributes:
        input_ids: [B, T] int32.
        padding_mask: [B, T] bool, True at real tokens.
        token_weights: [B, T] float32, the weight of each token's score in the combined score of
            its hypothesis; 0 leaves it out.
        places: [B] int32, the hypothesis of each sentence, h + H * l for hypothesis h of list l.
        other_scores: [L, H] float32, the combined scores without the part of the model.
        errors: [L, H] float32, the number of errors of each hypothesis.
        present: [L, H] bool, False at padding. Every list has a hypothesis.
    """

    input_ids: Any
    padding_mask: Any
    token_weights: Any
    places: Any
    other_scores: Any
    errors: Any
    present: Any


def expected_errors_loss(model: Any, likelihood: Any, batch: ListBatch) -> Loss:
    """The expected number of errors of a list, minus its mean number: a mean over the lists.

    The total is mean_l sum_h p(h) * (errors(h) - mean errors of the list), where
    p = softmax(other_scores + sum_t(token_weights * token scores)) over the list. The mean changes
    no gradient. It makes the loss negative where the model is better than chance. The model has no
    dropout in it, because the scores are those of reranking. The part "expected_errors" is
    sum_h p(h) * errors(h), a mean over the lists.

    Args:
        model: a `LanguageModel`.
        likelihood: the `tta.modeling.likelihood.base.Likelihood` that scores its tokens.
        batch: the lists.
    """
    inputs = {"input_ids": batch.input_ids, "padding_mask": batch.padding_mask}
    token_scores = likelihood.token_scores(model, inputs, batch.token_weights > 0)
    scores = ops.sum(token_scores * batch.token_weights, axis=1)
    shape = ops.shape(batch.errors)
    by_place = ops.segment_sum(scores, batch.places, shape[0] * shape[1])
    combined = ops.reshape(by_place, shape) + batch.other_scores
    probabilities = ops.softmax(ops.where(batch.present, combined, -1e9), axis=1)
    present = ops.cast(batch.present, "float32")
    errors = batch.errors * present
    mean = ops.sum(errors, axis=1, keepdims=True) / ops.sum(present, axis=1, keepdims=True)
    relative = (batch.errors - mean) * present
    return Loss(
        ops.mean(ops.sum(probabilities * relative, axis=1)),
        {"expected_errors": ops.mean(ops.sum(probabilities * errors, axis=1))},
    )
