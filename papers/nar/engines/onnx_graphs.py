"""What an autoencoder computes, as ONNX graphs: `tta.papers.nar.model`.

B sentences, T tokens, D hidden size, K latent vectors of a sentence, P numbers in each; L layers,
N heads, H = D / N, S keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.functions.encoders import encode_transformer, memory_heads, step
from tta.modeling.functions.heads import (
    log_sum_exp,
    predicting_states,
    scorer,
    table_of,
    transform,
)
from tta.modeling.kits.onnx.graph import Graph, Tensor
from tta.modeling.kits.onnx.kit import GROUP, OnnxKit
from tta.modeling.kits.onnx.language_model import batch_of, started
from tta.modeling.kits.onnx.weights import Weights
from tta.papers.nar.functions import length_log_probabilities, posterior, run_latent_inputs


@dataclass(frozen=True, eq=False)
class AutoencoderNetwork:
    """The graphs of an autoencoder.

    Graphs of the encoder read "input_ids" [B, T] int32 and "padding_mask" [B, T] bool. Those of the
    decoder also read "latent" [B, K P]; ids are read where the decoder reads tokens.

    Attributes:
        config: an `AutoencoderConfig`.
        arrays: {name: float32 array} of the weights.
        normalizer: as in `tta.load`.
        ranges: as in `Network`.
    """

    config: Any
    arrays: Mapping[str, np.ndarray]
    normalizer: str
    ranges: Mapping[str, np.ndarray] | None = None

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
        k, w, ids, mask = self._start()

        def encode(first):
            only = {"positions": w.graph.constant([[0]])} if first else {}
            return self._encoded(k, w, ids, mask, **only)["hidden_states"]

        moments = posterior(k, w, self.config, encode, mask)
        return w.graph.output("posterior", k.concatenate([*moments.values()], 1))

    def lengths(self) -> Graph:
        """log p of 1, 2, ... tokens, given "latent" [B, K P]: [B, max_position_embeddings]."""
        # Pieces may have small logits, lengths large ones.
        k, w = OnnxKit(self.config.layer_norm_eps), self._weights()[1]
        scores = length_log_probabilities(k, w.of("length_predictor"), self._given_latent(w))
        return w.graph.output("lengths", scores)

    # Of the decoder.

    def decoded_ids(self) -> Graph:
        """The most probable token at each position: [B, T] int32."""
        k, w, ids, mask = self._start()
        pieces, _ = self._best(k, w, self._decoded(k, w, ids, mask))
        return w.graph.output("ids", k.unflat(pieces, ids), np.int32)

    def decoded_ids_and_scores(self) -> Graph:
        """As `decoded_ids`, and the log-probabilities of these tokens, [B, T] float32."""
        k, w, ids, mask = self._start()
        pieces, scores = self._best(k, w, self._decoded(k, w, ids, mask), with_scores=True)
        w.graph.output("ids", k.unflat(pieces, ids), np.int32)
        assert scores is not None
        return w.graph.output("scores", k.unflat(scores, ids))

    def decoded_scores(self) -> Graph:
        """log p of the tokens "targets" [B, T] int32: [B, T] float32, 0 at padding."""
        k, w, ids, mask = self._start()
        targets = w.graph.input("targets", np.int32, ["batch", "tokens"])
        score = scorer(k, w, self.config, self.normalizer)
        return w.graph.output("scores", score(self._decoded(k, w, ids, mask), targets, mask))

    # Of an autoregressive decoder, one token at a time.

    def cache(self) -> Graph:
        """The keys and values of "latent" [B, K P], before any token: [2 L, B, N, 1, H]."""
        config, (k, w) = self.config, self._weights()
        memory, layers = self._latent(k, w)["memory"], range(config.num_hidden_layers)
        part = config.part("decoder")
        rows = [memory_heads(k, w, part, memory, i)[None] for i in layers]
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
        hidden, after = step(
            k,
            w.of("decoder"),
            config.part("decoder"),
            ids,
            position=position,
            added=added,
            mask=mask,
            cache=[cache[number] for number in range(2 * config.num_hidden_layers)],
            extend=lambda old, new: k.concatenate([old, new], 2),
        )
        rows = k.flat(hidden, config.hidden_size)
        graph.output("ids", self._best(k, w, rows)[0], np.int32)
        return graph.output("cache_after", k.concatenate([heads[None] for heads in after], 0))

    def _weights(self):
        return started(self.config, self.arrays, self.ranges, ("encoder", "decoder"))

    def _start(self):
        k, w = self._weights()
        return k, w, *batch_of(w.graph)

    def _encoded(self, k, w, ids, mask, **more):
        part = self.config.part("encoder")
        return encode_transformer(k, w.of("encoder"), part, ids, mask, **more)

    def _latent(self, k, w):
        """What `latent_inputs` makes of the input "latent"."""
        return run_latent_inputs(k, w.of("latent_inputs"), self.config, self._given_latent(w))

    def _given_latent(self, w):
        return w.graph.input("latent", np.float32, ["batch", self.config.latent_numbers])

    def _decoded(self, k, w, ids, mask):
        """The outputs of the decoder, in rows: [B T, D].

        Nothing predicts the first token of an autoregressive decoder. Its output is 0.
        """
        config, latent = self.config, self._latent(k, w)
        family, part = MODEL_TYPES.load(config.decoder_type), config.part("decoder")
        decode, weights = family.part("encoder"), w.of("decoder")

        def encode(ids, mask):
            return decode(k, weights, part, ids, mask, **latent)["hidden_states"]

        states = predicting_states(k, encode, ids, mask, family.predicts_next)
        return k.flat(states, config.hidden_size)

    def _best(self, k, w, rows, with_scores=False):
        """`best_pieces` of the states [M, D]."""
        head, table = w.of("head"), table_of(w, self.config)
        features = transform(k, head, self.config, rows)
        return best_pieces(
            k,
            features,
            head,
            table,
            num_pieces=self.config.vocab_size,
            with_scores=with_scores,
        )


def best_pieces(
    k: OnnxKit, features: Tensor, w: Weights, table: Tensor, num_pieces: int, with_scores: bool
) -> tuple[Tensor, Tensor | None]:
    """The most probable pieces, one of equals: [M, D] -> [M] int32.

    The second result is their natural log-probabilities, [M, 1], or None. `w` are the weights of
    the head, `table` is that of the softmax.
    """
    graph, ids, highest, sums = features.graph, [], [], []
    for start, stop in k.parts(num_pieces):
        logits, _ = k.logits(features, w, table, w["bias"], start=start, stop=stop)
        best = _best_column(logits, stop - start)
        ids.append(best + np.int64(start))
        highest.append(graph.operator("GatherElements", logits, best, axis=1))
        if with_scores:
            sums.append(log_sum_exp(k, logits))
    logits = k.concatenate(highest, 1)
    part = graph.operator("ArgMax", logits, axis=1)
    pieces = graph.operator("GatherElements", k.concatenate(ids, 1), part, axis=1)
    scores = None
    if with_scores:
        scores = k.max(logits, 1, keepdims=True) - log_sum_exp(k, k.concatenate(sums, 1))
    return graph.operator("Cast", pieces[:, 0], to="int32"), scores


def _best_column(x, size):
    """The position of the largest value of each row: [M, size] -> [M, 1] int64.

    ArgMax compares one number at a time, ReduceMax many: a first look at groups of columns leaves
    ArgMax a sixteenth of the numbers.
    """
    graph = x.graph
    if size % GROUP:
        return graph.operator("ArgMax", x, axis=1)
    width = size // GROUP
    highest = graph.operator(
        "ReduceMax", graph.operator("Reshape", x, [0, GROUP, width]), [1], keepdims=0
    )
    column = graph.operator("ArgMax", highest, axis=1)  # [M, 1]
    columns = column + np.arange(GROUP) * width
    row = graph.operator("ArgMax", graph.operator("GatherElements", x, columns, axis=1), axis=1)
    return column + row * np.int64(width)
