"""The latent vectors of an autoencoder as a distribution: samples and divergence.

B sentences, P numbers in a latent vector, D hidden size.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import ConfiguredLayer, PlainLayer
from tta.papers.nar.config import AutoencoderConfig


@keras.saving.register_keras_serializable("tta")
class LatentConnector(ConfiguredLayer, PlainLayer):
    """Owns the weights of `tta.papers.nar.functions.connect`, float32, and draws samples.

    Args:
        config: an `AutoencoderConfig`.
        seed: seed of `sample`. None takes one from Keras's global seed.
    """

    def __init__(self, config: AutoencoderConfig, seed: int | None = None, **kwargs: Any):
        super().__init__(config, **kwargs | {"dtype": "float32"})
        # In the layer, so that checkpoints hold its state and each replica draws its own numbers.
        self.seed = seed
        self.generator = keras.random.SeedGenerator(seed)

    def build(self, input_shape: Shape | None = None):
        self.add_weights(self.config.weights["connector"])

    def sample(self, mean: Tensor, log_variance: Tensor) -> Any:
        """mean + exp(log_variance / 2) * e with a new standard normal e: [B, P] float32."""
        noise = keras.random.normal(ops.shape(mean), seed=self.generator)
        return mean + ops.exp(0.5 * log_variance) * noise


def kl_divergence(mean: Tensor, log_variance: Tensor) -> Any:
    """KL(N(mean, exp(log_variance)) || N(0, 1)) of each number: [B, P] float32, in nats.

    1/2 (mean^2 + variance - 1 - log_variance), Kingma and Welling 2014, appendix B.
    """
    return 0.5 * (ops.square(mean) + ops.expm1(log_variance) - log_variance)
