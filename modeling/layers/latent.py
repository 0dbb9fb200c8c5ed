"""The latent vectors that join the halves of an autoencoder.

B sentences, T tokens, K latent vectors of a sentence, P numbers in a latent vector, D hidden size,
L layers of the decoder, M tokens at most.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.layers.attention import masked_softmax
from tta.modeling.layers.base import PlainLayer
from tta.modeling.layers.types import Shape, Tensor


class _Products(PlainLayer):
    """Base of the layers below: products with kernels, float32 in any precision."""

    def __init__(self, initializer_range: float = 0.02, **kwargs: Any):
        kwargs["dtype"] = "float32"
        super().__init__(**kwargs)
        self.initializer_range = initializer_range

    def add_kernel(self, inputs: int, outputs: int, name: str) -> Any:
        """A weight [inputs, outputs], truncated normal."""
        start = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
        return self.add_weight((inputs, outputs), start, name=name)


@keras.saving.register_keras_serializable("tta")
class LatentPooling(_Products):
    """Pools the states of a text to K vectors: attention with K learned queries q.

    softmax(h q_k / sqrt(D)) weighs the states h, in float32 in any precision. Several vectors hold
    more than the state of one token can.

    Args:
        num_latents: K.
        initializer_range: standard deviation of the initial queries, large so that they differ.

    Call:
        states: [B, T, D].
        padding_mask: [B, T] bool, True at real tokens.

    Returns:
        [B, K, D] float32.
    """

    def __init__(self, num_latents: int, initializer_range: float = 1.0, **kwargs: Any):
        super().__init__(initializer_range, **kwargs)
        self.num_latents = num_latents

    def build(self, states_shape: Shape, padding_mask_shape: Shape | None = None):
        self.queries = self.add_kernel(self.num_latents, states_shape[-1], "queries")

    def call(self, states: Tensor, padding_mask: Tensor):
        states = ops.cast(states, "float32")
        logits = ops.matmul(states, ops.transpose(self.queries)) * states.shape[-1] ** -0.5
        logits = ops.transpose(logits, (0, 2, 1))[:, None]  # [B, 1, K, T]
        weights = masked_softmax(logits, padding_mask[:, None])[:, 0]
        return ops.matmul(weights, states)

    def compute_output_shape(self, states_shape: Shape, padding_mask_shape: Shape | None = None):
        return states_shape[0], self.num_latents, states_shape[-1]


@keras.saving.register_keras_serializable("tta")
class LatentConnector(_Products):
    """Makes the latent vector of a text from the encoder's first state h, or from pooled ones.

    z = W_E h; or, variational, mean and log-variance of a normal distribution, W_E h (Li et al.
    2020, Optimus, section 3). There is no bias.

    Args:
        latent_size: P.
        variational: whether there is a log-variance.
        initializer_range: standard deviation of the initial kernel.
        seed: seed of `sample`. None takes one from Keras's global seed.

    Call:
        state: [..., D], the encoder's output at the begin token, or those of `LatentPooling`.

    Returns:
        {"mean": [..., P], "log_variance": [..., P]} float32; without the second if not variational.
    """

    def __init__(
        self, latent_size: int, variational: bool = False, seed: int | None = None, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.latent_size = latent_size
        self.variational = variational
        # In the layer, so that checkpoints hold its state and each replica draws its own numbers.
        self.seed = seed
        self.generator = keras.random.SeedGenerator(seed)

    def build(self, state_shape: Shape):
        outputs = (1 + self.variational) * self.latent_size
        self.kernel = self.add_kernel(state_shape[-1], outputs, "kernel")

    def call(self, state: Tensor):
        outputs = ops.matmul(state, self.kernel)
        if not self.variational:
            return {"mean": outputs}
        mean, log_variance = ops.split(outputs, 2, axis=-1)
        return {"mean": mean, "log_variance": log_variance}

    def sample(self, mean: Tensor, log_variance: Tensor) -> Any:
        """mean + exp(log_variance / 2) * e with a new standard normal e: [B, P] float32."""
        noise = keras.random.normal(ops.shape(mean), seed=self.generator)
        return mean + ops.exp(0.5 * log_variance) * noise

    def compute_output_shape(self, state_shape: Shape):
        names = ["mean", "log_variance"] if self.variational else ["mean"]
        return dict.fromkeys(names, (*state_shape[:-1], self.latent_size))


@keras.saving.register_keras_serializable("tta")
class LatentInputs(_Products):
    """Makes what a decoder reads from the latent vector z.

    W_D z, which is added to the embeddings and, unless the decoder is autoregressive, to the input
    of every later layer; for an autoregressive decoder the memory
    W_M z, one vector per layer (Li et al. 2020, section 3). If a text has several latent vectors, z
    is all of them in a row, and the memory is W_M z_k, one vector for each. There are no biases.

    Args:
        hidden_size: D.
        num_memories: L vectors of the memory; 0 for a decoder without.
        num_latents: K.
        initializer_range: standard deviation of the initial kernels.

    Call:
        latent: [..., K P].

    Returns:
        {"added": [..., 1, D], "memory": [..., L, D]} float32; without the second if L is 0. With
        several latent vectors, "memory" is [..., K, D].
    """

    def __init__(
        self, hidden_size: int, num_memories: int = 0, num_latents: int = 1, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.hidden_size = hidden_size
        self.num_memories = num_memories
        self.num_latents = num_latents

    def build(self, latent_shape: Shape):
        size = self.hidden_size
        self.added = self.add_kernel(latent_shape[-1], size, "added_kernel")
        if self.num_memories:
            outputs = self.num_memories * size
            self.memory = self.add_kernel(latent_shape[-1], outputs, "memory_kernel")
        elif self.num_latents > 1:
            self.memory = self.add_kernel(
                latent_shape[-1] // self.num_latents, size, "memory_kernel"
            )

    def call(self, latent: Tensor):
        found = {"added": ops.matmul(latent, self.added)[..., None, :]}
        before = ops.shape(latent)[:-1]
        if self.num_memories:
            shape = (*before, self.num_memories, self.hidden_size)
            found["memory"] = ops.reshape(ops.matmul(latent, self.memory), shape)
        elif self.num_latents > 1:
            each = ops.reshape(latent, (*before, self.num_latents, self.memory.shape[0]))
            found["memory"] = ops.matmul(each, self.memory)
        return found

    def compute_output_shape(self, latent_shape: Shape):
        several = self.num_latents if self.num_latents > 1 else 0
        sizes = {"added": 1, "memory": self.num_memories or several}
        return {n: (*latent_shape[:-1], k, self.hidden_size) for n, k in sizes.items() if k}


@keras.saving.register_keras_serializable("tta")
class LengthPredictor(_Products):
    """Predicts the number of tokens of a text from its latent vector z: softmax(W_L z + b).

    As the length token of Ghazvininejad et al. 2019 (Mask-Predict, section 4.1): a decoder that
    predicts all tokens at once cannot end a text by itself.

    Args:
        max_length: M, tokens of the longest text, begin and end token included.
        initializer_range: standard deviation of the initial kernel; the bias starts at 0.

    Call:
        latent: [..., K P].

    Returns:
        [..., M] float32, log p of 1, 2, ..., M tokens; natural log.
    """

    def __init__(self, max_length: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.max_length = max_length

    def build(self, latent_shape: Shape):
        self.kernel = self.add_kernel(latent_shape[-1], self.max_length, "kernel")
        self.bias = self.add_weight((self.max_length,), "zeros", name="bias")

    def call(self, latent: Tensor):
        return ops.log_softmax(ops.matmul(latent, self.kernel) + self.bias)

    def log_probabilities(self, latent: Tensor, padding_mask: Tensor) -> Any:
        """log p of the lengths that a mask [B, T] gives, given latent vectors [B, K P]: [B]."""
        lengths = ops.sum(ops.cast(padding_mask, "int32"), axis=1)
        return ops.take_along_axis(self(latent), lengths[:, None] - 1, axis=1)[:, 0]

    def compute_output_shape(self, latent_shape: Shape):
        return (*latent_shape[:-1], self.max_length)


def kl_divergence(mean: Tensor, log_variance: Tensor) -> Any:
    """KL(N(mean, exp(log_variance)) || N(0, 1)) of each number: [B, P] float32, in nats.

    1/2 (mean^2 + variance - 1 - log_variance), Kingma and Welling 2014, appendix B.
    """
    return 0.5 * (ops.square(mean) + ops.expm1(log_variance) - log_variance)
