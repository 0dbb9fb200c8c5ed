"""SemFit: a head that predicts the vector of a token instead of a distribution over tokens.

Li, Chen, Hsieh and Chang, 2019, "Efficient Contextual Representation Learning Without Softmax
Layer". The target vectors are fixed before training and come with the batch, so time and memory of
the head do not depend on the size of the vocabulary.
"""

from typing import Any

import keras
from keras import ops

from tta.errors import InputError
from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.heads.base import TransformHead, rows_with_targets
from tta.modeling.kits.types import Tensor
from tta.papers.semfit.heads import distances


@keras.saving.register_keras_serializable("tta")
class SemFitHead(TransformHead):
    """Dense, activation, LayerNorm, then a dense layer to the m dimensions of the target vectors.

    A family whose config has `head_transform` False has only the last dense layer (the paper).

    Args:
        config: a config whose `head` is a `SemFitSettings` with a `target_size`.

    Call:
        hidden_states: [B, T, D].
        table: ignored.

    Returns:
        [B, T, m] float32, the predicted vectors. With the distance "cosine", their lengths mean
        nothing.

    Raises:
        InputError: the config has no `target_size`.
    """

    output_name = "fit"

    def __init__(self, config: LanguageModelConfig, **kwargs: Any):
        super().__init__(config, **kwargs)
        if self.config.head.target_size is None:
            raise InputError("output_layer semfit needs a target_size")

    def call(self, hidden_states: Tensor, table: Tensor | None = None):
        return self._predict(hidden_states, training=False)

    def _predict(self, hidden_states, training):
        features = ops.cast(self.transform(hidden_states, training), self.compute_dtype)
        return ops.cast(self.fit_dense(features, training=training), "float32")

    def comparable(self, vectors: Tensor) -> Any:
        """Predictions [..., m] without lengths that mean nothing: unit vectors with "cosine"."""
        return distances.unit(vectors) if self.config.head.semfit_distance == "cosine" else vectors

    def distance(self, vectors: Tensor, targets: Tensor) -> Any:
        """The distance of `semfit_distance`: vectors, targets [..., m] -> [...] float32."""
        head = self.config.head
        if head.semfit_distance == "vmf":
            return distances.vmf(vectors, targets, head.vmf_lambda_1, head.vmf_lambda_2)
        distance = {"cosine": distances.cosine, "l2": distances.l2}[head.semfit_distance]
        return distance(vectors, targets)

    def loss(self, hidden_states, targets, weights, table=None):
        """As `Head.loss`: sum(weights * distances to the target vectors [B, T, m])."""
        rows, targets, weights = rows_with_targets(hidden_states, targets, weights)
        return ops.sum(weights * self.distance(self._predict(rows, training=True), targets))

    @property
    def output_size(self):
        return self.config.head.target_size
