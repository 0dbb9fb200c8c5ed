"""The objectives of language models, LAE, MLM and CLM, and their auxiliary losses.

A batch with "target_vectors" [B, T, m] is for a head that predicts vectors (SemFit): these are the
targets, in place of the ids of the tokens.
"""

import keras
import numpy as np
from keras import ops

from tta.modeling.config.training import LossSettings
from tta.modeling.kits.types import Tensor
from tta.modeling.layers.token_weights import inner_weights
from tta.modeling.likelihood import likelihood_of
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.base import Batch, Loss, Measured, Objective, Sums, Task, Vocabulary
from tta.registry import Registry

TARGET_VECTORS = "target_vectors"

# What a head predicts in place of the ids of tokens -> a module with `measure_vectors`,
# `summarize_vectors` and `describe_vectors`: the methods `evaluate`, `summarize` and `describe`.
MEASURES = Registry("held-out measure", {})


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

        A model that predicts vectors is measured by one of `MEASURES`.
        """
        likelihood = likelihood_of(model.config.model_type, self.vocabulary)
        boundary_tokens = bool(self.setting("score_boundary_tokens"))
        weights = likelihood.counted(batch["padding_mask"], boundary_tokens)
        if TARGET_VECTORS in batch:
            states = likelihood.predicting_states(model, batch)
            return MEASURES.load(TARGET_VECTORS).measure_vectors(
                model.head,
                states,
                ids=batch["input_ids"],
                targets=batch[TARGET_VECTORS],
                weights=weights,
            )
        scores = likelihood.token_scores(model, batch)
        return {"nll": (-ops.sum(scores * weights, axis=1), ops.sum(weights, axis=1))}

    def summarize(self, measured: Measured) -> dict[str, float]:
        """As `Objective.summarize`: nll per token, and the pseudo-perplexity of sentences.

        A sentence's pseudo-perplexity is exp(nll per token); its mean and median over sentences are
        what the paper's Table 7 reports.
        """
        if "nll" not in measured:
            return MEASURES.load(TARGET_VECTORS).summarize_vectors(measured)
        sums, counts = measured["nll"]
        with np.errstate(over="ignore"):  # infinite after a training that diverged
            perplexities = np.exp(sums / counts)
        return super().summarize(measured) | {
            "pseudo_perplexity_mean": float(perplexities.mean()),
            "pseudo_perplexity_median": float(np.median(perplexities)),
        }

    def describe(self, values: dict[str, float]) -> str:
        if "nll" not in values:
            return MEASURES.load(TARGET_VECTORS).describe_vectors(values)
        mean, median = (values[f"pseudo_perplexity_{name}"] for name in ("mean", "median"))
        return (
            f"nll {values['nll']:.4f} per token (ln), pseudo-perplexity mean {mean:.2f} "
            f"median {median:.2f}"
        )


class LanguageAutoencoding(LanguageModelObjective):
    """LAE: predicts each real token, boundary tokens included, from all others (section 4.1).

    The objective of T-TA and cloze. Nothing is masked in the input: the encoder cannot see the
    token that it predicts.
    """

    def language_task(self, batch: Batch) -> Task:
        inputs = {name: batch[name] for name in ("input_ids", "padding_mask")}
        return Task(inputs, batch["input_ids"], ops.cast(batch["padding_mask"], "float32"))


class CausalLanguageModeling(LanguageModelObjective):
    """CLM, uniLM's: every token from the tokens before it. The begin token is never a target."""

    def language_task(self, batch: Batch) -> Task:
        inputs = {name: batch[name][:, :-1] for name in ("input_ids", "padding_mask")}
        is_real = batch["padding_mask"][:, 1:]
        return Task(inputs, batch["input_ids"][:, 1:], ops.cast(is_real, "float32"))

    def at_predictions(self, values: Tensor) -> Tensor:
        return values[:, 1:]


class MaskedLanguageModeling(LanguageModelObjective):
    """MLM, of biLM and BERT: predicts 15% of the tokens from the others (Devlin et al. 2019).

    Of those, 80% are replaced by [MASK], 10% by any token, and 10% stay. Boundary tokens are never
    chosen. `seed` is the seed of the choice.
    """

    RATE, MASKED, RANDOM = 0.15, 0.8, 0.1

    def __init__(self, vocabulary: Vocabulary, config: LossSettings | None = None, seed: int = 0):
        super().__init__(vocabulary, config)
        self.vocabulary: Vocabulary = vocabulary
        self.generator = keras.random.SeedGenerator(seed)
        self.seeds = [self.generator.state]

    def language_task(self, batch: Batch) -> Task:
        ids, mask = batch["input_ids"], batch["padding_mask"]
        shape = ops.shape(ids)
        chosen = keras.random.uniform(shape, seed=self.generator) < self.RATE
        weights = inner_weights(mask) * ops.cast(chosen, "float32")
        kind = keras.random.uniform(shape, seed=self.generator)
        other = keras.random.randint(shape, 0, len(self.vocabulary), seed=self.generator)
        replaced = ops.where(
            kind < self.MASKED,
            self.vocabulary.mask_id,
            ops.where(kind < self.MASKED + self.RANDOM, other, ids),
        )
        inputs = {"input_ids": ops.where(weights > 0, replaced, ids), "padding_mask": mask}
        return Task(inputs, ids, weights)


# Cosines lie in [-1, 1]. Divided by this temperature, they allow a confident softmax over a hundred
# sentences. Results with other values are in docs/experiments/training.md.
CONTRAST_TEMPERATURE = 0.1


def decorrelation(vectors: Tensor, weights: Tensor) -> Tensor:
    """Distance of vectors from mean 0, variance 1 and uncorrelated dimensions: [] float32.

    The distance is |C - I|^2 / D: the sum of squares in a row, averaged over the D rows. C is the
    matrix of the second moments of `vectors` [..., D] float, sum(w v v^T) / sum(w). No gradient
    flows through the `weights` [...] float32.
    """
    vectors = ops.reshape(ops.cast(vectors, "float32"), (-1, vectors.shape[-1]))
    weights = ops.reshape(weights, (-1,))
    shares = weights / ops.maximum(ops.sum(weights), 1e-12)
    moments = ops.matmul(ops.transpose(vectors), shares[:, None] * vectors)  # [D, D]
    return ops.sum(ops.square(moments - ops.eye(moments.shape[0]))) / moments.shape[0]


def contrast(vectors: Tensor, weights: Tensor) -> Tensor:
    """Loss of finding the second half of each sentence from its first half, and vice versa.

    The first half has the tokens up to half of the sentence's weight. The vector of a half is the
    weighted mean of its tokens, [B, T, D] float. A half is compared, by cosine divided by
    `CONTRAST_TEMPERATURE`, with the opposite half of every sentence in the batch; its loss is -log
    softmax at its own sentence (InfoNCE; van den Oord et al., 2018, arXiv:1807.03748). Sentences in
    which a half has no weight are left out. No gradient flows through the weights [B, T] float32.

    Returns [] float32, natural log, the mean over all halves; 0 if every sentence is left out.
    """
    vectors = ops.cast(vectors, "float32")
    so_far, of_all = ops.cumsum(weights, axis=1), ops.sum(weights, axis=1, keepdims=True)
    is_first = ops.cast(so_far <= of_all / 2, "float32")  # [B, T]
    halves = [weights * is_first, weights * (1.0 - is_first)]
    takes_part = ops.logical_and(*(ops.sum(half, axis=1) > 0 for half in halves))  # [B]
    # The sum has the same direction as the mean, so it has the same cosines.
    first, second = (_normalized(ops.sum(half[:, :, None] * vectors, axis=1)) for half in halves)
    logits = ops.matmul(first, ops.transpose(second)) / CONTRAST_TEMPERATURE  # [B, B]
    are_both = ops.logical_and(takes_part[:, None], takes_part[None, :])
    logits = ops.where(are_both, logits, -1e9)
    losses = (ops.logsumexp(logits, axis=0) + ops.logsumexp(logits, axis=1)) / 2
    losses = ops.where(takes_part, losses - ops.diagonal(logits), 0.0)
    return ops.sum(losses) / ops.maximum(ops.sum(ops.cast(takes_part, "float32")), 1.0)


def _normalized(x):
    """x / |x| over the last axis; 0 at 0. `ops.normalize` has no gradient there on JAX."""
    return x * ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis=-1, keepdims=True), 1e-24))
