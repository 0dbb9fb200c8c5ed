"""The served graph of a model that turns each text, or pair of texts, into one row of numbers.

N texts, B of them in a batch, T tokens, D numbers in a row.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tta.scoring.scorers.text_model import TextModel
from tta.scoring.serving.graph_tokenizer import GraphTokenizer


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
        self.saved_variables = [variable.value for variable in lm.model.variables]

    def signatures(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """{signature: `tf.function` with named inputs and outputs}; also `serving_default`."""
        specs = [tf.TensorSpec([None], tf.string, name) for name in self.input_names]
        method = getattr(self, self.signature)
        function = tf.function(method, input_signature=specs, autograph=False)
        return {self.signature: function, "serving_default": function}

    def warmup_inputs(self, texts: tf.Tensor) -> dict[str, dict[str, tf.Tensor]]:
        """{signature: inputs} of requests that TF Serving runs before it accepts others."""
        return {self.signature: dict.fromkeys(self.input_names, texts)}

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
