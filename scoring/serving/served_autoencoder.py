"""The served graph of an autoencoder: raw strings to latent vectors, in TensorFlow operations only.

N texts, K latent vectors of a text, P numbers in each.
"""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tta.data.labelled.inputs import encode_texts
from tta.scoring.reconstruction.autoencoder_model import AutoencoderModel
from tta.scoring.serving.served_model import check_texts, require
from tta.scoring.serving.served_rows import outputs_of_rows


class ServedAutoencoder(tf.Module):
    """The signature `encode` of an `AutoencoderModel`, ready for `tf.saved_model.save`.

    Args:
        lm: an autoencoder with a tokenizer.
    """

    def __init__(self, lm: AutoencoderModel):
        super().__init__(name="tta")
        self.lm = lm
        # A SavedModel keeps the variables of its module. (Those of Keras wrap them.)
        self.saved_variables = [variable.value for variable in lm.model.variables]

    def signatures(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """{"encode": `tf.function` with named inputs and outputs}; also `serving_default`."""
        specs = [tf.TensorSpec([None], tf.string, "texts")]
        encode = tf.function(self.encode, input_signature=specs, autograph=False)
        return {"encode": encode, "serving_default": encode}

    def warmup_inputs(self, texts: tf.Tensor) -> dict[str, dict[str, tf.Tensor]]:
        """{signature: inputs} of requests that TF Serving runs before it accepts others."""
        return {"encode": {"texts": texts[:1]}}  # a long text is an error

    def encode(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """As `AutoencoderModel.encode` by default, for texts [N]: {"vectors": [N, K P] float32}.

        A text that is too long ends the request with an error.
        """
        longest = self.lm.window_size + 2
        encoded = encode_texts(self.lm.tokenizer, [check_texts(texts)], longest)
        length = tf.reduce_max(tf.concat([encoded.lengths, [0]], axis=0))
        rule = f"a latent vector holds {longest} tokens, a text has"
        with tf.control_dependencies([require(length <= longest, rule, length)]):
            ids = encoded.input_ids.with_values(tf.identity(encoded.input_ids.values))
        vectors = outputs_of_rows(
            lambda inputs: self.lm.model.encode_latent(inputs, training=False)["mean"],
            ids,
            self.lm.tokenizer.vocabulary.pad_id,
            max(1, self.lm.batch_tokens // longest),
            self.lm.model.config.latent_numbers,
        )
        return {"vectors": vectors}
