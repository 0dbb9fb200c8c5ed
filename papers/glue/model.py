"""A text classifier: the encoder of a language model, and a head on what it gives for a text."""

from typing import Any

import keras
from keras import ops

from tta.modeling.encoders.base import TOKENS, encoder_of
from tta.modeling.kits.types import Shape, Tensor, Tensors
from tta.modeling.layers.base import ConfiguredLayer, dense_layer
from tta.modeling.layers.token_weights import weights_after_first
from tta.modeling.models.base import ConfiguredModel, with_boolean_mask
from tta.papers.glue.config import MIX, ClassifierConfig
from tta.papers.glue.task_layers import MixedLSTM, compared, maximum, weighted_mean


@keras.saving.register_keras_serializable("tta")
class ClassificationHead(ConfiguredLayer):
    """Dense and tanh (the pooler), dropout, then a dense layer to one number per label.

    Devlin et al. 2019, section 4.1 and the original code: W tanh(V h + a) + b.

    Args:
        config: a `ClassifierConfig`.

    Call:
        pooled_states: [..., `config.pooled_size`], see `ClassifierConfig.pooling`.

    Returns:
        [..., L] float32: the logits of the L labels, or the predicted number (L = 1).
    """

    def build(self, pooled_states_shape: Shape):
        table = self.config.weights["head"]
        self.pooler = dense_layer(table["pooler"], name="pooler", dtype=self.dtype_policy)
        self.dropout = keras.layers.Dropout(self.config.dropout, dtype="float32")
        self.output_dense = dense_layer(table["output"], name="output", dtype=self.dtype_policy)

    def call(self, pooled_states: Tensor, training: bool | None = None):
        pooled = ops.tanh(ops.cast(self.pooler(pooled_states, training=training), "float32"))
        pooled = self.dropout(pooled, training=training)
        pooled = ops.cast(pooled, self.compute_dtype)
        return ops.cast(self.output_dense(pooled, training=training), "float32")

    def compute_output_shape(self, pooled_states_shape: Shape):
        return (*pooled_states_shape[:-1], self.config.num_outputs)


@keras.saving.register_keras_serializable("tta")
class TextClassifier(ConfiguredModel):
    """Predicts the label of a text or of a pair of texts, or a number.

    `config.pooling` says what the head reads of the encoder's outputs: that at the first token
    ([CLS], as in BERT), that at the last one, or means over the texts. In a T-TA and a biLM, the
    output at the first token has seen all others. In a uniLM it has seen nothing, and the output at
    the last token has seen everything. With "mix", the encoder's weights are not trained.

    B batch, T tokens, D hidden size, L labels.

    Args:
        config: a `ClassifierConfig`.
        dtype: as in `LanguageModel`.

    Call:
        inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool, True at real tokens}: the
            begin token, then each text with a separator behind it; and what the encoder reads of
            each token besides, such as "input_vectors" [B, T, m].

    Returns:
        {"logits": [B, L] float32}; L is 1 if the model predicts a number.

    Raises:
        ValueError: T is larger than the encoder's `max_position_embeddings`.
    """

    def __init__(
        self, config: ClassifierConfig, dtype: str = "float32", name: str = "text_classifier"
    ):
        super().__init__(config, dtype, name=name)
        self.encoder = encoder_of(config.encoder, name="encoder", dtype=dtype)
        self.head = ClassificationHead(config, name="head", dtype=dtype)
        self.encoder.build(TOKENS)
        self.head.build((None, config.pooled_size))
        self.reader = None
        if config.pooling == MIX:
            self.encoder.trainable = False
            self.reader = MixedLSTM(
                config.num_layers, config.lstm_size, config.dropout, name="reader"
            )
            self.reader.build((None, None, config.num_layers * config.layer_size))
        self.built = True

    def call(self, inputs: Tensors, training: bool | None = None):
        inputs = with_boolean_mask(inputs)
        return {"logits": self.head(self._pooled_states(inputs, training), training=training)}

    def encode(
        self, inputs: dict[str, Any], training: bool | None = None, **options: Any
    ) -> dict[str, Any]:
        """As `ConfiguredModel.encode`; in a BERT, the second text is segment 1."""
        if self.config.encoder.num_segments > 1:
            inputs = inputs | {"segment_ids": ops.minimum(self._separators(inputs)[1], 1)}
        return super().encode(inputs, training, **options)

    def _pooled_states(self, inputs, training):
        """[B, `config.pooled_size`]; the encoder computes no other position, where it can."""
        mask = inputs["padding_mask"]
        if self.config.pooling == MIX:
            return compared([self._maxima(text, training) for text in self._texts_alone(inputs)])
        if self.config.pooling == "mean":
            return self._means(self.encode(inputs, training)["hidden_states"], inputs)
        if self.config.pooling == "last":
            hidden = self.encode(inputs, training)["hidden_states"]
            last = ops.sum(ops.cast(mask, "int32"), axis=1) - 1
            return ops.take_along_axis(hidden, last[:, None, None], axis=1)[:, 0]
        only_first = {
            "positions": lambda: ops.zeros((1,), "int32"),
            "wanted": lambda: ops.broadcast_to(ops.arange(ops.shape(mask)[1]) < 1, ops.shape(mask)),
        }
        takes = self.encoder.optional_inputs
        added = {name: make() for name, make in only_first.items() if name in takes}
        return self.encode(inputs | added, training)["hidden_states"][:, 0]

    def _means(self, hidden, inputs):
        """The mean over the tokens of the text, or what compares the means of two texts."""
        ends, number = self._separators(inputs)
        weights_of_text = ops.where(ends, 0.0, weights_after_first(inputs["padding_mask"]))
        means = []
        for text in range(self.config.texts_per_example):
            weights = ops.where(number == text, weights_of_text, 0.0)
            means.append(weighted_mean(hidden, weights))
        return compared(means)

    def _texts_alone(self, inputs):
        """The inputs of each text by itself: the begin token, the text, the separator behind it."""
        mask = inputs["padding_mask"]
        position = ops.broadcast_to(ops.arange(ops.shape(mask)[1]), ops.shape(mask))
        number = self._separators(inputs)[1]
        for text in range(self.config.texts_per_example):
            mine = ops.logical_or(ops.logical_and(mask, number == text), position == 0)
            order = ops.argsort(ops.where(mine, position, position + ops.shape(mask)[1]), axis=1)
            alone = {name: _reordered(value, order) for name, value in inputs.items()}
            yield alone | {"padding_mask": _reordered(mine, order)}

    def _maxima(self, inputs, training):
        """What the LSTM makes of a text: the maxima over its tokens, [B, 2 `lstm_size`]."""
        outputs = self.encode(inputs, training=False)
        layers = outputs.get("layers")
        if layers is None:
            both = outputs["embedding_output"], outputs["hidden_states"]
            layers = ops.concatenate([ops.cast(layer, "float32") for layer in both], axis=-1)
        mask = inputs["padding_mask"]
        assert self.reader is not None
        return maximum(self.reader(layers, mask, training=training), mask)

    def _separators(self, inputs):
        """Where the separators are, [B, T] bool, and how many precede each token, [B, T] int32.

        Tokens of the first text have none before them, those of the second have one.
        """
        ends = inputs["input_ids"] == self.config.separator_id
        counts = ops.cast(ends, "int32")
        return ends, ops.cumsum(counts, axis=1) - counts


def _reordered(values, order):
    """The tokens of values [B, T, ...] in the order [B, T]."""
    order = ops.reshape(order, (*ops.shape(order), *[1] * (len(values.shape) - 2)))
    return ops.take_along_axis(values, order, axis=1)
