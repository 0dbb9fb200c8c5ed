"""The layers that join the halves of an autoencoder, and the divergence of its latent vectors.

B sentences, T tokens, K latent vectors of a sentence, P numbers in a latent vector, D hidden size.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import ConfiguredLayer, PlainLayer
from tta.papers.nar import functions
from tta.papers.nar.config import AutoencoderConfig


class _Latent(ConfiguredLayer, PlainLayer):
    """What joins the halves: the float32 weights of a part of `AutoencoderConfig.weights`.

    Args:
        config: an `AutoencoderConfig`.

    Call:
        The tensors that its function takes after the config.

    Returns:
        What the function returns, float32; a connector's means and log-variances by name.
    """

    part: str

    def __init__(self, config: AutoencoderConfig, **kwargs: Any):
        super().__init__(config, **kwargs | {"dtype": "float32"})

    def build(self, input_shape: Shape | None = None):
        self.add_weights(self.config.weights[self.part])


@keras.saving.register_keras_serializable("tta")
class LatentPooling(_Latent):
    """The states [B, T, D] of texts as K vectors [B, K, D]: `tta.papers.nar.functions.pool`."""

    part = "pooling"

    def call(self, states: Tensor, is_real: Tensor):
        is_real = ops.cast(is_real, "bool")
        return functions.pool(KerasKit(), self, self.config, states, is_real)


@keras.saving.register_keras_serializable("tta")
class LatentConnector(_Latent):
    """States as latent vectors, see `tta.papers.nar.functions.connect`; and samples of them.

    Args:
        config: an `AutoencoderConfig`.
        seed: seed of `sample`. None takes one from Keras's global seed.
    """

    part = "connector"

    def __init__(self, config: AutoencoderConfig, seed: int | None = None, **kwargs: Any):
        super().__init__(config, **kwargs)
        # In the layer, so that checkpoints hold its state and each replica draws its own numbers.
        self.seed = seed
        self.generator = keras.random.SeedGenerator(seed)

    def call(self, states: Tensor):
        return functions.connect(KerasKit(), self, self.config, states)

    def sample(self, mean: Tensor, log_variance: Tensor) -> Any:
        """mean + exp(log_variance / 2) * e with a new standard normal e: [B, P] float32."""
        noise = keras.random.normal(ops.shape(mean), seed=self.generator)
        return mean + ops.exp(0.5 * log_variance) * noise


@keras.saving.register_keras_serializable("tta")
class LatentInputs(_Latent):
    """What a decoder reads of latent vectors, see `tta.papers.nar.functions.latent_inputs`."""

    part = "latent_inputs"

    def call(self, latent: Tensor):
        return functions.latent_inputs(KerasKit(), self, self.config, latent)


def kl_divergence(mean: Tensor, log_variance: Tensor) -> Any:
    """KL(N(mean, exp(log_variance)) || N(0, 1)) of each number: [B, P] float32, in nats.

    1/2 (mean^2 + variance - 1 - log_variance), Kingma and Welling 2014, appendix B.
    """
    return 0.5 * (ops.square(mean) + ops.expm1(log_variance) - log_variance)
