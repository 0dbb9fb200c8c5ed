"""The part that all language-model objectives share: their loss and their evaluation.

A batch with "target_vectors" [B, T, m] is for a head that predicts vectors (SemFit): these are the
targets, in place of the ids of the tokens.
"""

import numpy as np
from keras import ops

from tta.modeling.kits.types import Tensor
from tta.modeling.layers.masks import inner_weights
from tta.modeling.likelihood import likelihood_of
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.auxiliary import contrast, decorrelation
from tta.modeling.objectives.base import Batch, Loss, Measured, Objective, Sums, Task
from tta.modeling.objectives.vectors import describe_vectors, measure_vectors, summarize_vectors

TARGET_VECTORS = "target_vectors"


class LanguageModelObjective(Objective):
    """The head's loss of tokens, and terms that shape the outputs; held-out log-likelihood.

    Config fields: `decorrelation_weight`, `contrast_weight`, `auxiliary_start`,
    `score_boundary_tokens`. Subclasses define `language_task`.

    Attributes:
        predicting_output: the encoder's output that the head predicts the targets from.
    """

    predicting_output = "hidden_states"

    def task(self, batch: Batch, step: Tensor | int) -> Task:
        task = self.language_task(batch)
        if TARGET_VECTORS in batch:
            vectors = self.at_predictions(batch[TARGET_VECTORS])
            has_vector = ops.cast(ops.any(vectors != 0, axis=-1), "float32")
            task = task._replace(targets=vectors, weights=task.weights * has_vector)
        if self.config is not None and self.config.auxiliary_start:
            has_begun = step >= round(self.config.auxiliary_start * self.config.num_train_steps)
            task = task._replace(auxiliary=ops.cast(has_begun, "float32"))
        return task

    def language_task(self, batch: Batch) -> Task:
        """Which tokens of a training batch are predicted from what; see `Objective.task`."""
        raise NotImplementedError

    def at_predictions(self, values: Tensor) -> Tensor:
        """Moves the value of each token [B, T, ...] to the position that predicts the token."""
        return values

    def loss(self, model: LanguageModel, task: Task) -> Loss:
        """The head's loss plus weighted auxiliary terms.

        `decorrelation_weight` keeps the dimensions of the outputs uncorrelated, `contrast_weight`
        makes outputs of a sentence alike and unlike those of other sentences. Both use the
        outputs at the targets of one replica's batch, without boundary tokens. They start
        after the fraction `auxiliary_start` of the steps.
        """
        hidden_states = model.encode(task.inputs, training=True)[self.predicting_output]
        total = model.loss_of(hidden_states, task.targets, task.weights)
        parts = {"head": total}
        count = ops.sum(task.weights)
        for name, term in (("decorrelation", decorrelation), ("contrast", contrast)):
            if weight := self.setting(f"{name}_weight"):
                inner = task.weights * inner_weights(task.inputs["padding_mask"])
                value = task.auxiliary * term(hidden_states, inner)
                total += weight * count * value
                parts[name] = count * value
        return Loss(total, parts)

    def evaluate(self, model: LanguageModel, batch: Batch) -> Sums:
        """As `Objective.evaluate`: "nll", the true negative log-likelihood (natural log).

        A model that predicts vectors is measured by `measure_vectors`.
        """
        likelihood = likelihood_of(model.config.model_type, self.vocabulary)
        boundary_tokens = bool(self.setting("score_boundary_tokens"))
        weights = likelihood.counted(batch["padding_mask"], boundary_tokens)
        if TARGET_VECTORS in batch:
            states = likelihood.predicting_states(model, batch)
            given = batch["input_ids"], batch[TARGET_VECTORS], weights
            return measure_vectors(model.head, states, *given)
        scores = likelihood.token_scores(model, batch)
        return {"nll": (-ops.sum(scores * weights, axis=1), ops.sum(weights, axis=1))}

    def summarize(self, measured: Measured) -> dict[str, float]:
        """As `Objective.summarize`: nll per token, and the pseudo-perplexity of sentences.

        A sentence's pseudo-perplexity is exp(nll per token); its mean and median over sentences are
        what the paper's Table 7 reports.
        """
        if "nll" not in measured:
            return summarize_vectors(measured)
        sums, counts = measured["nll"]
        with np.errstate(over="ignore"):  # infinite after a training that diverged
            perplexities = np.exp(sums / counts)
        return super().summarize(measured) | {
            "pseudo_perplexity_mean": float(perplexities.mean()),
            "pseudo_perplexity_median": float(np.median(perplexities)),
        }

    def describe(self, values: dict[str, float]) -> str:
        if "nll" not in values:
            return describe_vectors(values)
        mean, median = (values[f"pseudo_perplexity_{name}"] for name in ("mean", "median"))
        return (
            f"nll {values['nll']:.4f} per token (ln), pseudo-perplexity mean {mean:.2f} "
            f"median {median:.2f}"
        )
