"""The input layers of ELMo: frozen vectors, a trained table, or a network over characters.

B batch, T tokens, D hidden size. Each makes [B, T, D] float32 from the inputs of a model.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.kits.types import Shape, Tensor, Tensors
from tta.modeling.layers.base import ConfiguredLayer, PlainLayer, initializer
from tta.papers.semfit import config as elmo


@keras.saving.register_keras_serializable("tta")
class VectorInput(ConfiguredLayer):
    """A dense layer over frozen vectors of words, which the batch brings.

    Call:
        inputs: dict with "input_vectors" [B, T, `input_size`], of any float type.

    Returns:
        [B, T, D] float32.
    """

    def build(self, input_shape: Shape | None = None):
        self.add_weights(self.config.input_weights)

    def call(self, inputs: Tensors):
        vectors = ops.cast(inputs[elmo.VECTORS], self.compute_dtype)
        return ops.cast(self.projection_dense(vectors), "float32")


@keras.saving.register_keras_serializable("tta")
class TableInput(ConfiguredLayer):
    """A trained table, which a tied head shares.

    Call:
        inputs: dict with "input_ids" [B, T] int32.

    Returns:
        [B, T, D] float32.
    """

    def build(self, input_shape: Shape | None = None):
        self.add_weights(self.config.input_weights)

    def call(self, inputs: Tensors):
        return ops.take(self.token_table, inputs["input_ids"], axis=0)


@keras.saving.register_keras_serializable("tta")
class CharacterInput(ConfiguredLayer):
    """ELMo's network over the characters of each word (Peters et al. 2018, section 3.2).

    A table of characters, convolutions of widths 1 to 7 with relu and the maximum over the word,
    two highway layers, and a dense layer.

    Call:
        inputs: dict with "characters" [B, T, C] int32; 0 is the padding of a sentence.

    Returns:
        [B, T, D] float32.
    """

    def build(self, input_shape: Shape | None = None):
        table, policy = self.config.input_weights, self.dtype_policy
        self.add_weights({"characters": table["characters"]})
        self.filters = []
        for width, number in elmo.CHARACTER_FILTERS.items():
            start = initializer(table[f"filters_{width}"]["kernel"].initializer)
            layer = keras.layers.Conv1D(
                number, width, activation="relu", kernel_initializer=start, dtype=policy
            )
            layer.name = f"filters_{width}"
            layer.build((None, None, elmo.CHARACTER_SIZE))
            self.filters.append(layer)
        size = sum(elmo.CHARACTER_FILTERS.values())
        self.highways = [
            Highway(size, name=f"highway_{i}", dtype=policy) for i in range(elmo.NUM_HIGHWAYS)
        ]
        for highway in self.highways:
            highway.build((None, size))
        self.add_weights({"projection": table["projection"]})

    def call(self, inputs: Tensors):
        characters = inputs[elmo.CHARACTERS]
        shape = ops.shape(characters)
        words = ops.reshape(characters, (-1, shape[2]))
        x = ops.take(self.characters, words, axis=0)  # [B T, C, size]
        # A width-k filter needs k characters, which the padding of words of 50 gives.
        x = ops.concatenate([ops.max(layer(x), axis=1) for layer in self.filters], axis=-1)
        for highway in self.highways:
            x = highway(x)
        x = ops.cast(self.projection_dense(x), "float32")
        return ops.reshape(x, (shape[0], shape[1], self.config.hidden_size))


@keras.saving.register_keras_serializable("tta")
class Highway(PlainLayer):
    """g x + (1 - g) relu(x W + b) with g = sigmoid(x V + c) (Srivastava et al. 2015).

    c begins at 1, so that a new layer passes most of its input on.

    Args:
        size: dimensions of a vector.

    Call:
        x: [..., size].

    Returns:
        [..., size].
    """

    def __init__(self, size: int, **kwargs: Any):
        super().__init__(**kwargs)
        self.size = size

    def build(self, input_shape: Shape | None = None):
        self.add_weights(elmo.highway(self.size))

    def call(self, x: Tensor):
        gate = ops.sigmoid(self.gate_dense(x))
        return gate * x + (1 - gate) * ops.relu(self.transform_dense(x))


# input_layer in config.json -> the layer.
INPUT_LAYERS = {"vectors": VectorInput, "characters": CharacterInput, "tokens": TableInput}
