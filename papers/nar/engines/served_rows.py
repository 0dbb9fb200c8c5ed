"""The served graph of an autoencoder: N texts, K latent vectors of P numbers."""

import tensorflow as tf

from tta.papers.glue.engines.served_rows import ServedRows
from tta.papers.nar.autoencoder_model import AutoencoderModel
from tta.scoring.exports.serving.served_model import check_texts, require


class ServedAutoencoder(ServedRows):
    """The signature `encode` of an `AutoencoderModel`, ready for `tf.saved_model.save`."""

    signature = "encode"
    lm: AutoencoderModel

    def warmup_inputs(self, texts: tf.Tensor) -> dict[str, dict[str, tf.Tensor]]:
        """As `ServedRows.warmup_inputs`, without the long text, which is an error."""
        return super().warmup_inputs(texts[:1])

    def encode(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """As `AutoencoderModel.encode` by default, for texts [N]: {"vectors": [N, K P] float32}.

        A text that is too long ends the request with an error.
        """
        longest = self.lm.window_size + 2
        ids, lengths = self.encoded([check_texts(texts)], longest)
        length = tf.reduce_max(tf.concat([lengths, [0]], axis=0))
        rule = f"a latent vector holds {longest} tokens, a text has"
        with tf.control_dependencies([require(length <= longest, rule, length)]):
            ids = ids.with_values(tf.identity(ids.values))
        vectors = self.outputs_of_rows(
            lambda inputs: self.lm.model.encode_latent(inputs, training=False)["mean"],
            ids,
            longest,
            self.lm.model.config.latent_numbers,
        )
        return {"vectors": vectors}
