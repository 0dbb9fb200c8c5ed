"""Autoencoders in TensorFlow. B sentences, T tokens, N texts, K latent vectors of P numbers."""

import numpy as np
from keras import ops

from tta.scoring.engines.base import BatchFunction
from tta.scoring.engines.tensorflow.engine import TensorFlowEngine


class AutoencoderEngine(TensorFlowEngine):
    """Runs a `SequenceAutoencoder`; that of onnxruntime has the same methods."""

    def posterior(self) -> BatchFunction:
        """The mean of the latent vectors, and of a VAE the log-variance: [B, K P or 2 K P]."""
        return self._frozen.get(self._posterior)

    def decoded_ids(self, num_passes: int) -> BatchFunction:
        """The most probable tokens, [B, T] int32. The third argument is [B, K P] float32."""
        return self._frozen.get(self._decoded_ids, num_passes, of_latents=True)

    def decoded_scores(self) -> BatchFunction:
        """log p of each token, [B, T] float32. The third argument is [B, K P] float32."""
        return self._frozen.get(self._decoded_scores, of_latents=True)

    def length_logits(self, vectors: np.ndarray) -> np.ndarray:
        """Logits of the numbers of tokens that latent vectors [N, K P] stand for: [N, T]."""
        return self._model.lengths(vectors).numpy()

    def _posterior(self, batch, wanted, output_table):
        encoded = self._model.encode_latent(batch, training=False)
        return ops.concatenate([encoded[n] for n in ("mean", "log_variance") if n in encoded], -1)

    def _decoded_ids(self, batch, latents, output_table, num_passes):
        model, mask = self._model, batch["padding_mask"]
        if self.config.decoder_type == "unilm":
            length = ops.shape(mask)[1]
            begin_id = self._vocabulary.bos_id
            return model.decode_greedily(latents, length, begin_id, output_table=output_table)
        if num_passes > 1:
            return model.decode_in_passes(latents, mask, num_passes, output_table)
        return model.decode_at_once(latents, mask, batch["input_ids"], output_table)

    def _decoded_scores(self, batch, latents, output_table):
        mask, ids = batch["padding_mask"], batch["input_ids"]
        states = self._model.decode(latents, mask, ids, training=False)
        return self._model.head.log_probabilities(
            states, self._model.token_table, ids, wanted=mask, output_table=output_table
        )
