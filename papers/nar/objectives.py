"""The objectives of a `SequenceAutoencoder`: a text from its latent vector; a variational bound.

B sentences, T tokens.
"""

from typing import Any

import keras
from keras import ops

from tta.errors import InputError
from tta.modeling.config.training import LossSettings
from tta.modeling.kits.types import Tensor
from tta.modeling.layers.token_weights import inner_weights, weights_after_first
from tta.modeling.objectives.base import (
    Batch,
    Loss,
    Measured,
    Objective,
    Sums,
    Task,
    Vocabulary,
)
from tta.papers.nar.config import ACTIVE_VARIANCE, AutoencoderConfig
from tta.papers.nar.functions import lowest
from tta.papers.nar.layers import kl_divergence
from tta.papers.nar.model import SequenceAutoencoder

ZERO_SHARE, RAMP_SHARE = 0.5, 0.25  # parts of a cycle of beta


def cyclical_beta(
    step: Tensor | int, num_train_steps: int, num_cycles: int = 10, lowest: float = 0.0
) -> Tensor:
    """The weight of a VAE's KL term, by cyclical annealing (Fu et al. 2019; Li et al. 2020, 4).

    With t the position in a cycle, 0 to 1: beta is 0 for t < `ZERO_SHARE`, rises linearly to 1 over
    `RAMP_SHARE`, and stays there. `lowest` replaces 0: beta = lowest + (1 - lowest) * the same.

    beta is a function of the step alone, so a resumed run goes on with the same values, unless its
    `num_train_steps` was changed, which moves the cycles.

    Args:
        step: steps done, [] int64.
        num_train_steps: N steps in all cycles.
        num_cycles: M.
        lowest: the smallest beta.

    Returns:
        [] float32.
    """
    # (step mod N/M) / (N/M), in integers as long as possible: N/M may not be one.
    position = ops.cast(step, "int64") * num_cycles % num_train_steps
    position = ops.cast(position, "float32") / num_train_steps
    return lowest + (1.0 - lowest) * ops.clip((position - ZERO_SHARE) / RAMP_SHARE, 0.0, 1.0)


class Autoencoding(Objective):
    """AE: -log p(x | z), per token. The latent vector z is never sampled.

    p(x | z) is the product of p(x_i | z) over the tokens. The begin token, which all texts have, is
    not predicted. If the model predicts the length T, it is p(T | z) times that product.

    With decoder_input "masked", a random number of tokens is hidden, from one to all of a sentence,
    and only these are predicted (Ghazvininejad et al. 2019, section 2.2). `seed` is the seed of the
    choice.
    """

    variational = False

    def __init__(
        self,
        vocabulary: Vocabulary | None = None,
        config: LossSettings | None = None,
        seed: int = 0,
    ):
        super().__init__(vocabulary, config)
        self.generator = keras.random.SeedGenerator(seed)
        self.seeds = [self.generator.state]

    def check_model(self, config: AutoencoderConfig) -> None:
        if config.variational != self.variational:
            needed = "true" if self.variational else "false"
            raise InputError(f"this objective needs variational {needed} in the model's config")

    def task(self, batch: Batch, step: Tensor | int) -> Task:
        inputs = {name: batch[name] for name in ("input_ids", "padding_mask")}
        weights = weights_after_first(batch["padding_mask"])
        return Task(inputs, batch["input_ids"], weights, self.beta(step))

    def beta(self, step: Tensor | int) -> Tensor | float:
        """The weight of the KL term after some steps: [] float32."""
        return 0.0

    def loss(self, model: SequenceAutoencoder, task: Task) -> Loss:
        """As `Objective.loss`: the cross entropy of tokens and lengths, and beta times the KL.

        The terms of sentence b, -log p(T | z) and the KL, are divided by the same number as the
        losses of its tokens: they are weighed by the mean weight of its tokens. So with beta 1 the
        loss is the negative evidence lower bound of all texts, divided by the number of their
        tokens.
        """
        mask, weights = task.inputs["padding_mask"], task.weights
        encoded = model.encode_latent(task.inputs, training=True)
        latent = model.latent(encoded, training=True)
        ids, observed, predicted = task.inputs["input_ids"], None, weights
        if model.config.decoder_input == "masked":
            hidden, factor = self._hide(weights > 0)
            keeps = ops.logical_and(weights > 0, ops.logical_not(hidden))
            observed = ops.where(keeps, ids, model.config.pad_id)
            predicted = weights * ops.cast(hidden, "float32") * factor
        states = model.decode(latent, mask, ids, training=True, known_ids=observed)
        total = model.loss_of(states, task.targets, predicted)
        parts = {"head": total}
        counts = ops.sum(ops.cast(weights > 0, "float32"), axis=1)
        share = ops.sum(weights, axis=1) / ops.maximum(counts, 1.0)  # [B]
        if model.length_predictor is not None:
            lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
            scores = ops.take_along_axis(model.lengths(latent), lengths[:, None] - 1, axis=1)
            parts["length"] = -ops.sum(share * scores[:, 0])
            total = total + parts["length"]
        if self.variational:
            kl = kl_divergence(**encoded)  # [B, P]
            parts["kl"] = ops.sum(share * ops.sum(kl, axis=1))
            counted = ops.maximum(kl, self.setting("kl_threshold"))
            total = total + task.auxiliary * ops.sum(share * ops.sum(counted, axis=1))
        return Loss(total, parts)

    def _hide(self, allowed):
        """Chooses k of n allowed positions of each sentence; k is uniform in 1, ..., n.

        Returns where they are, [B, T] bool, and n divided by the mean of k, [B, 1] float32: with
        this factor, the losses at k positions are on average those of n.
        """
        number = ops.sum(ops.cast(allowed, "float32"), axis=1, keepdims=True)
        part = keras.random.uniform(ops.shape(number), seed=self.generator)
        order = keras.random.uniform(ops.shape(allowed), seed=self.generator)
        count = 1 + ops.cast(ops.floor(part * number), "int32")
        return lowest(ops, order, allowed, count), 2.0 * number / (number + 1.0)

    def evaluate(self, model: SequenceAutoencoder, batch: Batch) -> Sums:
        """As `Objective.evaluate`; the latent vector is the mean.

        "nll" and "accuracy" are those of tokens, without the end token unless the setting
        `score_boundary_tokens` is on. "kl" is that of a sentence, "length_accuracy" the part of
        the sentences whose length is predicted. "latent" and "latent_squares" are the mean and its
        squares.
        """
        ids, mask = batch["input_ids"], batch["padding_mask"]
        encoded = model.encode_latent(batch)
        states = model.decode(encoded["mean"], mask, ids)
        boundary_tokens = self.setting("score_boundary_tokens")
        weights = weights_after_first(mask) if boundary_tokens else inner_weights(mask)
        logits = model.head(states, model.token_table)
        scores = ops.take_along_axis(logits, ids[..., None], axis=-1)[..., 0]
        scores -= ops.logsumexp(logits, axis=-1)
        hits = ops.cast(ops.cast(ops.argmax(logits, axis=-1), ids.dtype) == ids, "float32")
        counts, mean = ops.sum(weights, axis=1), encoded["mean"]
        ones = ops.ones_like(mean[:, 0])
        measured = {
            "nll": (-ops.sum(scores * weights, axis=1), counts),
            "accuracy": (ops.sum(hits * weights, axis=1), counts),
            "latent": (mean, ones),
            "latent_squares": (ops.square(mean), ones),
        }
        if model.length_predictor is not None:
            lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
            right = ops.cast(ops.argmax(model.lengths(mean), axis=-1), "int32")
            right = ops.cast(right + 1 == lengths, "float32")
            measured["length_accuracy"] = right, ones
        if self.variational:
            kl = ops.sum(kl_divergence(**encoded), axis=1)
            measured["kl"] = kl, ones
        return measured

    def summarize(self, measured: Measured) -> dict[str, float]:
        """As `Objective.summarize`: nll and accuracy per token, KL per sentence, active units.

        A unit is a number of the latent vector. It is active if its variance over the sentences is
        above `ACTIVE_VARIANCE`.
        """
        means = {name: s.sum(axis=0) / c.sum() for name, (s, c) in measured.items()}
        variance = means.pop("latent_squares") - means.pop("latent") ** 2
        active = {"active_units": float((variance > ACTIVE_VARIANCE).sum())}
        return {name: float(value) for name, value in means.items()} | active

    def describe(self, values: dict[str, float]) -> str:
        parts = [
            f"nll {values['nll']:.4f} per token (ln)",
            f"accuracy {100 * values['accuracy']:.2f} %",
        ]
        if "length_accuracy" in values:
            parts.append(f"lengths {100 * values['length_accuracy']:.2f} %")
        if "kl" in values:
            parts.append(f"KL {values['kl']:.3f} per sentence")
        return ", ".join([*parts, f"{values['active_units']:.0f} active units"])


class VariationalAutoencoding(Autoencoding):
    """VAE: -sum_i log p(x_i | z) + beta KL(q(z | x) || p(z)), with a sample z of q.

    beta is cyclical (`cyclical_beta`) and 0 in half of each cycle. With `kl_threshold`, lambda, the
    KL in the loss is sum_p max(lambda, KL_p) over the dimensions of z (Li et al. 2020, section 4).
    Config fields: `num_train_steps`, `kl_threshold`.
    """

    variational = True
    lowest_beta = 0.0

    def beta(self, step: Tensor | int) -> Tensor | float:
        if self.config is None:
            return 1.0
        return cyclical_beta(step, self.config.num_train_steps, lowest=self.lowest_beta)

    def at_step(self, step: Tensor) -> dict[str, Any]:
        # That of the last step: beta(step) is the next one's, which begins a cycle after the last.
        return {"beta": self.beta(ops.maximum(step - 1, 0))}


class FullVariationalAutoencoding(VariationalAutoencoding):
    """full-VAE: as the VAE, with a beta that is never below 0.25."""

    lowest_beta = 0.25
