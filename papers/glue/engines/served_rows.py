"""The served graph of a model of rows: one row of numbers per text or pair; a classifier's.

N texts, B of them in a batch, T tokens, T_n those of text n, D numbers in a row.
"""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf
import tensorflow_text as tf_text

from tta.papers.glue.classifier_model import ClassifierModel
from tta.scoring.exports.serving.graph_tokenizer import GraphTokenizer
from tta.scoring.exports.serving.served_model import check_texts, require
from tta.scoring.scorers.text_model import TextModel


class ServedRows(tf.Module):
    """One signature over raw strings, ready for `tf.saved_model.save`.

    A subclass has a method with the name of its signature: string tensors [N], one for each name in
    `input_names`, -> {name of an output: a tensor with N rows}.

    Args:
        lm: a model with a tokenizer.

    Attributes:
        signature: the name of the signature and of the method.
        input_names: the names of its inputs.
    """

    signature: str
    input_names: tuple[str, ...] = ("texts",)

    def __init__(self, lm: TextModel):
        super().__init__(name="tta")
        self.lm = lm
        self.tokenizer = GraphTokenizer(lm.tokenizer)
        # A SavedModel keeps the variables of its module. (Those of Keras wrap them.)
        self.saved_variables = [variable.value for variable in lm.model.weights]

    def signatures(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """{signature: `tf.function` with named inputs and outputs}; also `serving_default`."""
        specs = [tf.TensorSpec([None], tf.string, name) for name in self.input_names]
        method = getattr(self, self.signature)
        function = tf.function(method, input_signature=specs, autograph=False)
        return {self.signature: function, "serving_default": function}

    def warmup_inputs(self, texts: tf.Tensor) -> dict[str, dict[str, tf.Tensor]]:
        """{signature: inputs} of requests that TF Serving runs before it accepts others."""
        return {self.signature: dict.fromkeys(self.input_names, texts)}

    def encoded(self, texts: Sequence[Any], max_seq_length: int) -> tuple[Any, Any]:
        """One or two string tensors [N] as the inputs of a model, cut as BERT cuts them.

        Returns (ids, a RaggedTensor [N, T_n] int32; the tokens that each input had before it was
        cut, [N] int32).
        """
        pieces = [self.tokenizer.tokenize(text) for text in texts]
        num_boundaries = 1 + len(pieces)
        lengths = tf.add_n([tf.cast(ids.row_lengths(), tf.int32) for ids in pieces])
        size = max(0, max_seq_length - num_boundaries)
        if len(pieces) == 1:
            trimmed = [pieces[0][:, :size]]
        else:
            # Of two equally long texts, the trimmer cuts its first one, BERT the second.
            trimmed = tf_text.ShrinkLongestTrimmer(size).trim(pieces[::-1])[::-1]
        vocabulary = self.tokenizer.vocabulary
        ids, _ = tf_text.combine_segments(trimmed, vocabulary.bos_id, vocabulary.eos_id)
        return ids, num_boundaries + lengths

    def outputs_of_rows(
        self,
        run: Callable[[dict[str, tf.Tensor]], tf.Tensor],
        ids: Any,
        longest: int,
        output_size: int,
    ) -> tf.Tensor:
        """One row per text: [N, D] float32. Memory is bounded for requests of any size.

        Args:
            run: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool} -> [B, D] float32.
            ids: a RaggedTensor [N, None] int32, a text per row.
            longest: T at most.
            output_size: D.
        """
        pad_id = self.lm.tokenizer.vocabulary.pad_id
        batch_size = max(1, self.lm.batch_tokens // longest)
        count = ids.nrows(tf.int32)

        def step(first, found):
            rows = ids[first : first + batch_size]
            mask = tf.sequence_mask(rows.row_lengths())
            outputs = run({"input_ids": rows.to_tensor(pad_id), "padding_mask": mask})
            return first + batch_size, tf.concat([found, outputs], axis=0)

        return tf.while_loop(
            lambda first, _: first < count,
            step,
            [0, tf.zeros([0, output_size])],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, output_size])],
            parallel_iterations=1,
        )[1]


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
        columns = [check_texts(text) for text in texts]
        sizes = tf.stack([tf.size(column) for column in columns])
        rule = "every first text must have a second; texts:"
        # Otherwise an operation that fails on such columns may run first.
        with tf.control_dependencies([require(tf.reduce_all(sizes == sizes[0]), rule, sizes)]):
            columns = [tf.identity(column) for column in columns]
        config = self.lm.model.config
        ids, lengths = self.encoded(columns, config.max_seq_length)
        if self.lm.options.long_sentences == "refuse":
            longest = tf.reduce_max(tf.concat([lengths, [0]], axis=0))
            require(
                longest <= config.max_seq_length,
                f"the model takes {config.max_seq_length} tokens, an input has",
                longest,
            )
        logits = self.outputs_of_rows(
            lambda inputs: self.lm.model(inputs, training=False)["logits"],
            ids,
            config.max_seq_length,
            config.num_outputs,
        )
        if not config.labels:
            return {"values": logits[:, 0]}
        names = tf.gather(tf.constant(config.labels), tf.argmax(logits, axis=1))
        return {"labels": names, "probabilities": tf.nn.softmax(logits)}
