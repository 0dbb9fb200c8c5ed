"""The engine of autoencoders in onnxruntime. B sentences, T tokens."""

import numpy as np

from tta.modeling.kits.onnx.autoencoder import AutoencoderNetwork
from tta.scoring.engines.onnxruntime.engine import OnnxEngine


class AutoencoderEngine(OnnxEngine):
    """Runs both halves of an autoencoder, which mask nothing, whatever the variant."""

    gives_scores = False

    def _make_network(self, pll_variant, rounded):
        return AutoencoderNetwork(self.config, self._arrays, self.normalizer, rounded=rounded)

    def token_scores(self):
        raise self._lacks("probabilities of tokens")

    def _vectors(self, representation):
        if representation == "token":
            return self._rows_of("decoder/embeddings/token_table")
        network = self._network
        session = self._session(network.embeddings if representation == "embed" else network.states)
        return lambda ids, mask, wanted: session(input_ids=ids, padding_mask=mask)

    def posterior(self):
        session = self._session(self._network.posterior)
        return lambda ids, mask, wanted: session(input_ids=ids, padding_mask=mask)

    def decoded_ids(self, num_passes):
        if self.config.decoder_type == "unilm":
            return self._greedy()
        if num_passes > 1:
            return self._in_passes(num_passes)
        session = self._session(self._network.decoded_ids)

        def decode(ids, mask, latent):
            return session(input_ids=self._read(ids), padding_mask=mask, latent=latent)

        return decode

    def decoded_scores(self):
        session = self._session(self._network.decoded_scores)

        def score(ids, mask, latent):
            read = self._read(ids)
            return session(input_ids=read, padding_mask=mask, latent=latent, targets=ids)

        return score

    def length_logits(self, vectors):
        from scipy.special import log_softmax  # a sixth of the time until a score of other models

        kernel, bias = (self._arrays[f"length_predictor/{name}"] for name in ("kernel", "bias"))
        return log_softmax(vectors @ kernel + bias, axis=-1)

    def _read(self, ids):
        """What the decoder reads where the tokens are `ids`, [B, T]."""
        if self.config.decoder_input == "ground_truth":
            return ids
        return np.full_like(ids, self.config.pad_id)

    def _greedy(self):
        """See `SequenceAutoencoder.decode_greedily`."""
        start, step = self._session(self._network.cache), self._session(self._network.next_ids)
        begin_id = self._vocabulary.bos_id

        def decode(ids, mask, latent):
            found, cache = np.full_like(ids, begin_id), start(latent=latent)
            for position in range(ids.shape[1] - 1):
                found[:, position + 1], cache = step.outputs(
                    input_ids=found[:, position, None],
                    position=np.array([position]),
                    latent=latent,
                    cache=cache,
                )
            return found

        return decode

    def _in_passes(self, num_passes):
        """See `SequenceAutoencoder.decode_in_passes`."""
        session = self._session(self._network.decoded_ids_and_scores)

        def decode(ids, mask, latent):
            predicted = mask & (np.arange(mask.shape[1]) > 0)
            counts, hidden = predicted.sum(axis=1), predicted
            best, scores = np.full_like(ids, self.config.pad_id), np.zeros(ids.shape, np.float32)
            known = best
            for number in range(1, num_passes + 1):
                new = session.outputs(input_ids=known, padding_mask=mask, latent=latent)
                if number == 1:
                    best, scores = new
                else:
                    best, scores = (
                        np.where(hidden, one, other)
                        for one, other in zip(new, (best, scores), strict=True)
                    )
                hidden = lowest(scores, predicted, counts * (num_passes - number) // num_passes)
                known = np.where(predicted & ~hidden, best, np.int32(self.config.pad_id))
            return best

        return decode


def lowest(values: np.ndarray, allowed: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Where the lowest `counts` [B] of the allowed values [B, T] of each row are: [B, T] bool."""
    order = np.argsort(np.where(allowed, values, np.inf), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1, kind="stable")
    return allowed & (ranks < counts[:, None])
