"""The engine of autoencoders in onnxruntime. B sentences, T tokens."""

import functools
from types import SimpleNamespace

import numpy as np

from tta.errors import InputError
from tta.papers.nar.engines.onnx_graphs import AutoencoderNetwork
from tta.papers.nar.functions import decode_in_passes
from tta.scoring.engines.onnxruntime.engine import OnnxEngine

_ARRAYS = SimpleNamespace(
    where=np.where, sum=np.sum, argsort=functools.partial(np.argsort, kind="stable")
)


class AutoencoderEngine(OnnxEngine):
    """Runs both halves of an autoencoder, which mask nothing, whatever the variant."""

    gives_scores = False

    def _make_network(self):
        return AutoencoderNetwork(self.config, self._arrays, self.normalizer, self.ranges)

    def token_scores(self):
        raise InputError(
            f"{type(self).__name__} of a {self.config.model_type} has no probabilities of tokens"
        )

    def usual(self):
        encode, score, size = self.posterior(), self.decoded_scores(), self.config.latent_numbers
        self.decoded_ids(1)

        def run(ids, mask, wanted):
            return score(ids, mask, encode(ids, mask, wanted)[:, :size])

        return [run, *super().usual()]

    def posterior(self):
        return self._of_tokens(self._network.posterior)

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
        return self._session(self._network.lengths)(latent=vectors)

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
            decoded, cache = np.full_like(ids, begin_id), start(latent=latent)
            for position in range(ids.shape[1] - 1):
                decoded[:, position + 1], cache = step.outputs(
                    input_ids=decoded[:, position, None],
                    position=np.array([position]),
                    latent=latent,
                    cache=cache,
                )
            return decoded

        return decode

    def _in_passes(self, num_passes):
        """See `SequenceAutoencoder.decode_in_passes`."""
        session = self._session(self._network.decoded_ids_and_scores)
        pad_id = np.int32(self.config.pad_id)

        def decode(ids, mask, latent):
            def once(known):
                known = np.full_like(ids, pad_id) if known is None else known
                return session.outputs(input_ids=known, padding_mask=mask, latent=latent)

            predicted = mask & (np.arange(mask.shape[1]) > 0)
            return decode_in_passes(_ARRAYS, once, predicted, num_passes, pad_id)

        return decode
