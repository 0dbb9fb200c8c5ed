"""What an autoencoder computes, as ONNX graphs: `tta.modeling.models.autoencoder`.

B sentences, T tokens, D hidden size, K latent vectors of a sentence, P numbers in each; L layers,
N heads, H = D / N, S keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.functions.encoders import autoregressive, transformer
from tta.modeling.functions.heads import log_probabilities, table_of, transform
from tta.modeling.functions.latent import latent_inputs, pool
from tta.modeling.functions.queries import spread
from tta.modeling.kits.onnx.graph import Graph
from tta.modeling.kits.onnx.language_model import batch_of, started
from tta.modeling.kits.onnx.vocabulary import best_pieces


@dataclass(frozen=True, eq=False)
class AutoencoderNetwork:
    """The graphs of an autoencoder.

    Graphs of the encoder read "input_ids" [B, T] int32 and "padding_mask" [B, T] bool. Those of the
    decoder also read "latent" [B, K P]; ids are read where the decoder reads tokens.

    Attributes:
        config: an `AutoencoderConfig`.
        arrays: {name: float32 array} of the weights.
        normalizer: as in `tta.load`.
        rounded: whether products that round well are computed in int8.
    """

    config: Any
    arrays: Mapping[str, np.ndarray]
    normalizer: str
    rounded: bool = False

    # Of the encoder.

    def states(self) -> Graph:
        """The last layer's output: [B, T, D]."""
        k, w, ids, mask = self._start()
        return w.graph.output("states", self._encoded(k, w, ids, mask)["hidden_states"])

    def embeddings(self) -> Graph:
        """The output of the embedding layer: [B, T, D]."""
        k, w, ids, mask = self._start()
        return w.graph.output("embeddings", self._encoded(k, w, ids, mask)["embedding_output"])

    def posterior(self) -> Graph:
        """The mean of the latent vectors, and of a VAE the log-variance: [B, K P or 2 K P]."""
        config = self.config
        k, w, ids, mask = self._start()
        if config.num_latents == 1:  # of the begin token
            first = w.graph.constant([[0]])
            pooled = self._encoded(k, w, ids, mask, positions=first)["hidden_states"]
        else:
            states = self._encoded(k, w, ids, mask)["hidden_states"]
            pooled = pool(k, w.of("pooling"), config, states, mask)
        vectors = pooled @ w.of("connector")["kernel"]  # [B, K, P or 2 P]
        size = config.latent_size
        parts = [vectors[:, :, :size], vectors[:, :, size:]][: 1 + config.variational]
        found = [k.flat(part, config.latent_numbers) for part in parts]
        return w.graph.output("posterior", k.concatenate(found, 1))

    # Of the decoder.

    def decoded_ids(self) -> Graph:
        """The most probable token at each position: [B, T] int32."""
        k, w, ids, mask = self._start()
        found, _ = self._best(k, w, self._decoded(k, w, ids, mask))
        return w.graph.output("ids", k.unflat(found, ids), np.int32)

    def decoded_ids_and_scores(self) -> Graph:
        """As `decoded_ids`, and the log-probabilities of these tokens, [B, T] float32."""
        k, w, ids, mask = self._start()
        found, scores = self._best(k, w, self._decoded(k, w, ids, mask), with_scores=True)
        w.graph.output("ids", k.unflat(found, ids), np.int32)
        return w.graph.output("scores", k.unflat(scores, ids))

    def decoded_scores(self) -> Graph:
        """log p of the tokens "targets" [B, T] int32: [B, T] float32, 0 at padding."""
        k, w, ids, mask = self._start()
        targets = w.graph.input("targets", np.int32, ["batch", "tokens"])
        is_real = k.flat(mask)
        positions = k.nonzero(is_real)
        rows = k.take(self._decoded(k, w, ids, mask), positions)
        targets = k.take(k.flat(targets), positions)
        scores = log_probabilities(k, w, self.config, rows, targets, self.normalizer)
        scores = spread(k, scores, is_real, axis=0, rank=1)
        return w.graph.output("scores", k.unflat(scores, ids))

    # Of an autoregressive decoder, one token at a time.

    def cache(self) -> Graph:
        """The keys and values of "latent" [B, K P], before any token: [2 L, B, N, 1, H]."""
        config, (k, w) = self.config, self._weights()
        memory, layers = self._latent(k, w)["memory"], range(config.num_hidden_layers)
        part = config.part("decoder")
        rows = [autoregressive.memory_heads(k, w, part, memory, i)[None] for i in layers]
        return w.graph.output("cache", k.concatenate([row for row in rows for _ in range(2)], 0))

    def next_ids(self) -> Graph:
        """The most probable next tokens, [B] int32, and the cache with one more key.

        Reads "input_ids" [B, 1], the last tokens; "position" [1] int64, their position; "latent";
        and the "cache" [2 L, B, N, S, H], at position 0 that of `cache`.
        """
        config, (k, w) = self.config, self._weights()
        graph = w.graph
        ids = graph.input("input_ids", np.int32, ["batch", 1])
        position = graph.input("position", np.int64, [1])
        cache = graph.input("cache", np.float32, ["pairs", "batch", "heads", "keys", "head_size"])
        added = self._latent(k, w)["added"]
        mask = (k.arange(k.size(cache, 3) + np.int64(1)) >= np.int64(0))[None, None]
        given = config.part("decoder"), ids, position, added, mask
        old = [cache[number] for number in range(2 * config.num_hidden_layers)]
        hidden, after = autoregressive.step(
            k, w.of("decoder"), *given, old, lambda old, new: k.concatenate([old, new], 2)
        )
        rows = k.flat(hidden, config.hidden_size)
        graph.output("ids", self._best(k, w, rows)[0], np.int32)
        return graph.output("cache_after", k.concatenate([one[None] for one in after], 0))

    def _weights(self):
        return started(self.config, self.arrays, ("encoder", "decoder") if self.rounded else None)

    def _start(self):
        k, w = self._weights()
        return k, w, *batch_of(w.graph)

    def _encoded(self, k, w, ids, mask, **more):
        part = self.config.part("encoder")
        return transformer.encode(k, w.of("encoder"), part, ids, mask, **more)

    def _latent(self, k, w):
        """What `latent_inputs` makes of the input "latent"."""
        latent = w.graph.input("latent", np.float32, ["batch", self.config.latent_numbers])
        return latent_inputs(k, w.of("latent_inputs"), self.config, latent)

    def _decoded(self, k, w, ids, mask):
        """The outputs of the decoder, in rows: [B T, D].

        Nothing predicts the first token of an autoregressive decoder. Its output is 0.
        """
        config, latent = self.config, self._latent(k, w)
        given = k, w.of("decoder"), config.part("decoder")
        if config.decoder_type == "unilm":
            states = autoregressive.encode(*given, ids[:, :-1], mask[:, :-1], **latent)
            states = k.pad(states["hidden_states"], [(0, 0), (1, 0), (0, 0)])
        else:
            encode = MODEL_TYPES.load(config.decoder_type).part("encoder")
            states = encode(*given, ids, mask, **latent)["hidden_states"]
        return k.flat(states, config.hidden_size)

    def _best(self, k, w, rows, with_scores=False):
        """`best_pieces` of the states [M, D]."""
        head = w.of("head")
        features = transform(k, head, self.config, rows)
        return best_pieces(features, *table_of(w, self.config), head, with_scores)
