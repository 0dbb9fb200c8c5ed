"""How well a model predicts target vectors: held-out distance, cosine and nearest neighbours.

A model of vectors gives no probabilities, so it has no log-likelihood. B sentences, T tokens, m
dimensions, N sentences of all batches.
"""

import numpy as np
from keras import ops

from tta.modeling.kits.types import Tensor
from tta.modeling.objectives.base import Measured, Sums
from tta.papers.semfit.heads.distances import unit
from tta.papers.semfit.heads.semfit import SemFitHead


def measure_vectors(
    head: SemFitHead, states: Tensor, ids: Tensor, targets: Tensor, weights: Tensor
) -> Sums:
    """Measures the predictions of a held-out batch, as `Objective.evaluate`.

    Args:
        head: a head that predicts vectors.
        states: [B, T, D], the state that predicts each token.
        ids: [B, T] int32, the tokens.
        targets: [B, T, m] float. Tokens whose vector is zero are left out.
        weights: [B, T] float32, 1 at the tokens that count, else 0.

    Returns:
        {name: (sums [B], counts [B])} float32 of the tokens with a vector:

        - "distance": the head's distance, which training minimizes.
        - "cosine": of prediction and target.
        - "nearest": 1 if, of the vectors of all tokens in the sentence, that of the right token has
          the highest cosine with the prediction.
        - "target": the targets, scaled to length 1: ([B, m], [B]).
    """
    predictions, targets = head(states), ops.cast(targets, "float32")
    weights = weights * ops.cast(ops.any(targets != 0, axis=-1), "float32")
    counts = ops.sum(weights, axis=1)
    units = unit(targets)
    per_token = {
        "distance": head.distance(predictions, targets),
        "cosine": ops.sum(unit(predictions) * units, axis=-1),
        "nearest": _finds_its_token(unit(predictions), units, ids, weights),
    }
    measured = {name: (ops.sum(v * weights, axis=1), counts) for name, v in per_token.items()}
    return measured | {"target": (ops.sum(units * weights[..., None], axis=1), counts)}


def _finds_its_token(predictions, targets, ids, weights):
    """Whether the target nearest to each prediction is one of the right token: [B, T] float32."""
    cosines = ops.matmul(predictions, ops.transpose(targets, (0, 2, 1)))  # [B, T, T]
    nearest = ops.argmax(ops.where(weights[:, None] > 0, cosines, -2.0), axis=-1)
    return ops.cast(ops.take_along_axis(ids, nearest, axis=1) == ids, "float32")


def summarize_vectors(measured: Measured) -> dict[str, float]:
    """Summarizes what `measure_vectors` measured of all batches, as `Objective.summarize`.

    "constant_cosine" is the mean cosine of the best constant prediction, the direction of the mean
    target. A model that has learned nothing but frequencies reaches it.
    """
    means = {name: s.sum(axis=0) / c.sum() for name, (s, c) in measured.items()}
    constant = np.linalg.norm(means.pop("target"))
    return {name: float(mean) for name, mean in means.items()} | {
        "constant_cosine": float(constant)
    }


def describe_vectors(values: dict[str, float]) -> str:
    """The values of `summarize_vectors` as text for a reader."""
    return (
        f"distance {values['distance']:.4f}, cosine {values['cosine']:.4f} (a constant prediction "
        f"{values['constant_cosine']:.4f}), nearest neighbour {100 * values['nearest']:.2f} %"
    )
