"""The latent vectors that join the halves of an autoencoder.

B sentences, T tokens, K latent vectors of a sentence, P numbers in a latent vector, D hidden size,
L layers of the decoder, M tokens at most.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.config.autoencoder import AutoencoderConfig
from tta.modeling.functions.latent import latent_inputs, pool
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import ConfiguredLayer


class _Joint(ConfiguredLayer):
    """Base of the layers below: float32 in any precision.

    Args:
        config: an `AutoencoderConfig`.
    """

    table = ""  # the part of `config.weights`

    def __init__(self, config: AutoencoderConfig, **kwargs: Any):
        super().__init__(config, **kwargs | {"dtype": "float32"})

    def build(self, input_shape: Shape | None = None):
        self.add_weights(self.config.weights[self.table])


@keras.saving.register_keras_serializable("tta")
class LatentPooling(_Joint):
    """Pools the states of a text to K vectors: attention with K learned queries q.

    softmax(h q_k / sqrt(D)) weighs the states h, in float32 in any precision. Several vectors hold
    more than the state of one token can.

    Call:
        states: [B, T, D].
        padding_mask: [B, T] bool, True at real tokens.

    Returns:
        [B, K, D] float32.
    """

    table = "pooling"

    def call(self, states: Tensor, padding_mask: Tensor):
        return pool(KerasKit(), self, self.config, states, padding_mask)

    def compute_output_shape(self, states_shape: Shape, padding_mask_shape: Shape | None = None):
        return states_shape[0], self.config.num_latents, states_shape[-1]


@keras.saving.register_keras_serializable("tta")
class LatentConnector(_Joint):
    """Makes the latent vector of a text from the encoder's first state h, or from pooled ones.

    z = W_E h; or, variational, mean and log-variance of a normal distribution, W_E h (Li et al.
    2020, Optimus, section 3). There is no bias.

    Args:
        config: an `AutoencoderConfig`.
        seed: seed of `sample`. None takes one from Keras's global seed.

    Call:
        state: [..., D], the encoder's output at the begin token, or those of `LatentPooling`.

    Returns:
        {"mean": [..., P], "log_variance": [..., P]} float32; without the second if not variational.
    """

    table = "connector"

    def __init__(self, config: AutoencoderConfig, seed: int | None = None, **kwargs: Any):
        super().__init__(config, **kwargs)
        # In the layer, so that checkpoints hold its state and each replica draws its own numbers.
        self.seed = seed
        self.generator = keras.random.SeedGenerator(seed)

    def get_config(self):
        return super().get_config() | {"seed": self.seed}

    def call(self, state: Tensor):
        outputs = ops.matmul(state, self.kernel)
        if not self.config.variational:
            return {"mean": outputs}
        mean, log_variance = ops.split(outputs, 2, axis=-1)
        return {"mean": mean, "log_variance": log_variance}

    def sample(self, mean: Tensor, log_variance: Tensor) -> Any:
        """mean + exp(log_variance / 2) * e with a new standard normal e: [B, P] float32."""
        noise = keras.random.normal(ops.shape(mean), seed=self.generator)
        return mean + ops.exp(0.5 * log_variance) * noise

    def compute_output_shape(self, state_shape: Shape):
        names = ["mean", "log_variance"] if self.config.variational else ["mean"]
        return dict.fromkeys(names, (*state_shape[:-1], self.config.latent_size))


@keras.saving.register_keras_serializable("tta")
class LatentInputs(_Joint):
    """Makes what a decoder reads from the latent vector z.

    W_D z, which is added to the embeddings and, unless the decoder is autoregressive, to the input
    of every later layer; for an autoregressive decoder the memory
    W_M z, one vector per layer (Li et al. 2020, section 3). If a text has several latent vectors, z
    is all of them in a row, and the memory is W_M z_k, one vector for each. There are no biases.

    Call:
        latent: [..., K P].

    Returns:
        {"added": [..., 1, D], "memory": [..., L, D]} float32; without the second if the decoder is
        not autoregressive. With several latent vectors, "memory" is [..., K, D].
    """

    table = "latent_inputs"

    def call(self, latent: Tensor):
        size, before = self.added_kernel.shape[0], ops.shape(latent)[:-1]
        rows = ops.reshape(latent, (-1, size))
        found = latent_inputs(KerasKit(), self, self.config, rows)
        return {name: ops.reshape(x, (*before, *x.shape[1:])) for name, x in found.items()}

    def compute_output_shape(self, latent_shape: Shape):
        config = self.config
        several = config.num_latents if config.num_latents > 1 else 0
        sizes = {"added": 1, "memory": config.num_memories or several}
        return {n: (*latent_shape[:-1], k, config.hidden_size) for n, k in sizes.items() if k}


@keras.saving.register_keras_serializable("tta")
class LengthPredictor(_Joint):
    """Predicts the number of tokens of a text from its latent vector z: softmax(W_L z + b).

    As the length token of Ghazvininejad et al. 2019 (Mask-Predict, section 4.1): a decoder that
    predicts all tokens at once cannot end a text by itself.

    M is `config.max_position_embeddings`, begin and end token included.

    Call:
        latent: [..., K P].

    Returns:
        [..., M] float32, log p of 1, 2, ..., M tokens; natural log.
    """

    table = "length_predictor"

    def call(self, latent: Tensor):
        return ops.log_softmax(ops.matmul(latent, self.kernel) + self.bias)

    def log_probabilities(self, latent: Tensor, padding_mask: Tensor) -> Any:
        """log p of the lengths that a mask [B, T] gives, given latent vectors [B, K P]: [B]."""
        lengths = ops.sum(ops.cast(padding_mask, "int32"), axis=1)
        return ops.take_along_axis(self(latent), lengths[:, None] - 1, axis=1)[:, 0]

    def compute_output_shape(self, latent_shape: Shape):
        return (*latent_shape[:-1], self.config.max_position_embeddings)


def kl_divergence(mean: Tensor, log_variance: Tensor) -> Any:
    """KL(N(mean, exp(log_variance)) || N(0, 1)) of each number: [B, P] float32, in nats.

    1/2 (mean^2 + variance - 1 - log_variance), Kingma and Welling 2014, appendix B.
    """
    return 0.5 * (ops.square(mean) + ops.expm1(log_variance) - log_variance)
