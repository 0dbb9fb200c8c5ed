"""ELMo's encoder: LSTMs that read each sentence forward and backward."""

from typing import Any

import keras
from keras import ops

from tta.modeling.encoders.base import Encoder
from tta.modeling.kits.types import Shape, Tensors
from tta.papers.semfit.config import CHARACTERS, VECTORS, ElmoConfig
from tta.papers.semfit.inputs import INPUT_LAYERS
from tta.papers.semfit.lstm import ProjectedLSTM, reverse_sentences


@keras.saving.register_keras_serializable("tta")
class ElmoEncoder(Encoder):
    """Two stacks of LSTMs with projection, one per direction, over the same inputs.

    Each layer after the first adds its input to its output (Peters et al. 2018, section 4.1).

    Args:
        config: an `ElmoConfig`.

    Call:
        inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}, and "input_vectors"
            [B, T, `input_size`] or "characters" [B, T, C] int32 if the input layer needs them.

    Returns:
        - "hidden_states" [B, T, 2D]: the last layers, forward and backward. At a token, both have
          seen this token.
        - "embedding_output" [B, T, D]: the input layer.
        - "layers" [B, T, (1 + layers) 2D]: the input layer, twice, and each layer, side by side:
          the layers that `ScalarMix` mixes.
        - "predicting_states" [2B, T, D]: the last forward layer at the token before, then the last
          backward layer at the token after. None has seen the token. Zeros where there is none.

        All are float32. Padding does not change them at tokens.
    """

    optional_inputs = (VECTORS, CHARACTERS)
    extra_outputs = ("layers", "predicting_states")

    def __init__(self, config: ElmoConfig, **kwargs: Any):
        super().__init__(config, **kwargs)
        layer = INPUT_LAYERS[config.input_layer]
        self.embeddings: Any = layer(config, name="embeddings", dtype=self.dtype_policy)
        self.lstms = [
            ProjectedLSTM(
                config.lstm_size,
                config.hidden_size,
                num_networks=2,
                use_layer_norm=config.use_layer_norm,
                cell_clip=config.cell_clip or None,
                projection_clip=config.projection_clip or None,
                name=f"layer_{i}",
                dtype=self.dtype_policy,
            )
            for i in range(config.num_hidden_layers)
        ]
        self.dropout = keras.layers.Dropout(config.hidden_dropout_prob, dtype="float32")

    @property
    def token_table(self):
        return self.embeddings.token_table if self.config.has_token_table else None

    def build(self, inputs_shape: dict[str, Shape] | None = None):
        self.embeddings.build()
        for lstm in self.lstms:
            lstm.build((None, None, 2, self.config.hidden_size))

    def call(self, inputs: Tensors, training: bool | None = None):
        self.check_inputs(inputs)
        mask = ops.cast(inputs["padding_mask"], "bool")

        def both_forward(x):
            """Turns the backward direction of [B, T, 2, D] round."""
            return ops.stack([x[:, :, 0], reverse_sentences(x[:, :, 1], mask)], axis=2)

        embedded = self.embeddings(inputs)
        x = both_forward(ops.stack([embedded, embedded], axis=2))
        layers = [ops.concatenate([embedded, embedded], axis=-1)]
        for i, lstm in enumerate(self.lstms):
            new = lstm(self.dropout(x, training=training))
            x = new + x if i else new
            layers.append(_side_by_side(both_forward(x)))
        last = self.dropout(both_forward(x), training=training)
        backward = ops.where(mask[..., None], last[:, :, 1], 0.0)
        return {
            "hidden_states": _side_by_side(last),
            "embedding_output": embedded,
            "layers": ops.concatenate(layers, axis=-1),
            "predicting_states": ops.concatenate([_shift(last[:, :, 0], 1), _shift(backward, -1)]),
        }

    def output_size(self, name: str):
        both = 2 * self.config.hidden_size
        return {"hidden_states": both, "layers": both * (1 + len(self.lstms))}.get(name, both // 2)

    def compute_output_shape(self, inputs_shape: dict[str, Shape]):
        batch, time = inputs_shape["input_ids"]
        names = ("hidden_states", "embedding_output", *self.extra_outputs)
        shapes = {name: (batch, time, self.output_size(name)) for name in names}
        doubled = None if batch is None else 2 * batch
        return shapes | {"predicting_states": (doubled, *shapes["predicting_states"][1:])}


def _side_by_side(x):
    """[B, T, 2, D] -> [B, T, 2D]."""
    return ops.concatenate([x[:, :, 0], x[:, :, 1]], axis=-1)


def _shift(x, by):
    """Moves [B, T, D] by one token to the right (1) or left (-1), with zeros at the free end."""
    if by > 0:
        return ops.pad(x[:, :-1], [[0, 0], [1, 0], [0, 0]])
    return ops.pad(x[:, 1:], [[0, 0], [0, 1], [0, 0]])
