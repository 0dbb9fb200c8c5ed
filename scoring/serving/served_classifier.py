"""The served graph of a text classifier: raw strings to labels, in TensorFlow operations only.

N examples, L labels.
"""

import tensorflow as tf

from tta.scoring.classification.classifier_model import ClassifierModel
from tta.scoring.serving.served_model import check_texts, require
from tta.scoring.serving.served_rows import ServedRows


class ServedClassifier(ServedRows):
    """The signature `classify` of a `ClassifierModel`, ready for `tf.saved_model.save`."""

    signature = "classify"
    lm: ClassifierModel

    def __init__(self, lm: ClassifierModel):
        super().__init__(lm)
        if lm.model.config.texts_per_example == 2:
            self.input_names = ("first_texts", "second_texts")

    def classify(self, *texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """As `ClassifierModel.predict`, for texts [N], or first and second texts [N] of pairs.

        Returns {"labels": [N] string, the most probable ones, "probabilities": [N, L] float32}, or
        {"values": [N] float32} of a model that predicts numbers.
        """
        columns = [check_texts(one) for one in texts]
        sizes = tf.stack([tf.size(one) for one in columns])
        rule = "every first text must have a second; texts:"
        # Otherwise an operation that fails on such columns may run first.
        with tf.control_dependencies([require(tf.reduce_all(sizes == sizes[0]), rule, sizes)]):
            columns = [tf.identity(one) for one in columns]
        config = self.lm.model.config
        encoded = self.tokenizer.encode_texts(columns, config.max_seq_length)
        if self.lm.options.long_sentences == "refuse":
            longest = tf.reduce_max(tf.concat([encoded.lengths, [0]], axis=0))
            require(
                longest <= config.max_seq_length,
                f"the model takes {config.max_seq_length} tokens, an input has",
                longest,
            )
        logits = self.outputs_of_rows(
            lambda inputs: self.lm.model(inputs, training=False)["logits"],
            encoded.input_ids,
            config.max_seq_length,
            config.num_outputs,
        )
        if not config.labels:
            return {"values": logits[:, 0]}
        names = tf.gather(tf.constant(config.labels), tf.argmax(logits, axis=1))
        return {"labels": names, "probabilities": tf.nn.softmax(logits)}
