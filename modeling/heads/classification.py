"""The head of a text classifier: BERT's pooler, dropout and a dense layer."""

import keras
from keras import ops

from tta.modeling.kits.types import Shape, Tensor
from tta.modeling.layers.base import ConfiguredLayer
from tta.modeling.layers.weights import dense_layer


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
