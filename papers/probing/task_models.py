"""Models of a task over the frozen layers of another model, as ELMo's features are used.

Li et al. 2019, section 4, train such models above ELMo. These are small: the mix of the layers and
a bidirectional LSTM (`MixedLSTM`), then labels of texts, or tags of words.

B examples, N texts of an example, T words, S numbers of a word (L layers side by side), K labels.
"""

from typing import Any

import keras
from keras import ops

from tta.modeling.kits.types import Tensors
from tta.modeling.layers.base import PlainLayer
from tta.papers.glue.task_layers import LinearChainCRF, MixedLSTM, compared, maximum


class TaskModel(PlainLayer, keras.Model):
    """What both models share; Keras's `fit` and `train_on_batch` train them.

    Args:
        num_layers: L.
        num_labels: K.
        size: S.
        lstm_size: units of each direction.
        dropout: of the words, and of the LSTM's outputs.
    """

    def __init__(
        self,
        num_layers: int,
        num_labels: int,
        size: int,
        lstm_size: int,
        dropout: float = 0.5,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_layers, self.num_labels, self.size = num_layers, num_labels, size
        self.lstm_size, self.dropout = lstm_size, dropout
        self.reader = MixedLSTM(num_layers, lstm_size, dropout, name="reader")
        self.reader.build((None, None, size))

    def best_labels(self, inputs: Tensors) -> Any:
        """The predicted numbers of labels: [B], or [B, T] for words, int32."""
        raise NotImplementedError

    def predict_step(self, data: Any) -> Any:
        """As Keras's; `predict_on_batch` gives `best_labels`."""
        return self.best_labels(data[0])


@keras.saving.register_keras_serializable("tta")
class LabelModel(TaskModel):
    """Labels of texts or pairs: the maximum over the words, compared for pairs, a dense layer.

    The "BiLSTM with max pooling" of Conneau et al. 2017, section 3.2.

    Args:
        texts_per_example: N, 1 or 2.

    Call:
        inputs: {"layers": [B N, T, S], "padding_mask": [B N, T] bool}, the N texts of an example
            one after the other.

    Returns:
        [B, K] float32 logits.
    """

    def __init__(self, texts_per_example: int = 1, **kwargs: Any):
        super().__init__(**kwargs)
        self.texts_per_example = texts_per_example
        size = 2 * self.lstm_size * (4 if texts_per_example == 2 else 1)
        self.output_dense = keras.layers.Dense(self.num_labels, name="output", dtype="float32")
        self.output_dense.build((None, size))
        self.built = True

    def call(self, inputs: Tensors, training: bool | None = None):
        mask = inputs["padding_mask"]
        vectors = maximum(self.reader(inputs["layers"], mask, training=training), mask)
        each = [vectors[i :: self.texts_per_example] for i in range(self.texts_per_example)]
        return self.output_dense(compared(each))

    def compute_loss(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None, training: bool = True
    ) -> Any:
        """The mean cross entropy of labels y [B] int32, natural log."""
        chances = ops.log_softmax(y_pred, axis=-1)
        return -ops.mean(ops.take_along_axis(chances, y[:, None], axis=1))

    def best_labels(self, inputs: Tensors):
        return ops.argmax(self(inputs, training=False), axis=-1)


@keras.saving.register_keras_serializable("tta")
class TagModel(TaskModel):
    """Tags of words: a dense layer and a linear-chain CRF (Lample et al. 2016, without characters).

    Call:
        inputs: {"layers": [B, T, S], "padding_mask": [B, T] bool}.

    Returns:
        [B, T, K] float32, the emissions of the CRF.
    """

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.output_dense = keras.layers.Dense(self.num_labels, name="output", dtype="float32")
        self.output_dense.build((None, None, 2 * self.lstm_size))
        self.crf = LinearChainCRF(self.num_labels, name="crf")
        self.crf.build()
        self.built = True

    def call(self, inputs: Tensors, training: bool | None = None):
        states = self.reader(inputs["layers"], inputs["padding_mask"], training=training)
        return self.output_dense(states)

    def compute_loss(
        self, x: Any, y: Any, y_pred: Any, sample_weight: Any = None, training: bool = True
    ) -> Any:
        """-log p of the tags y [B, T] int32, a mean over sentences, natural log."""
        return -ops.mean(self.crf.log_likelihood(y_pred, y, x["padding_mask"]))

    def best_labels(self, inputs: Tensors):
        return self.crf.best_tags(self(inputs, training=False), inputs["padding_mask"])
