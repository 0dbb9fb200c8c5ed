"""What an autoencoder computes, as ONNX graphs: `tta.modeling.models.autoencoder`.

B sentences, T tokens, D hidden size, K latent vectors of a sentence, P numbers in each; L layers,
N heads, H = D / N, S keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tta.scoring.engines.onnxruntime.graphs.encoders import (
    Inputs,
    causal_mask,
    embed,
    encode,
    with_memory,
)
from tta.scoring.engines.onnxruntime.graphs.graph import Graph, arange, concatenate, spread
from tta.scoring.engines.onnxruntime.graphs.head import (
    log_probabilities,
    log_sum_exp,
    logits,
    transform,
)
from tta.scoring.engines.onnxruntime.graphs.layers import (
    block,
    layer_norm,
    masked_softmax,
    project,
    split_heads,
)
from tta.scoring.engines.onnxruntime.graphs.rounding import magnified_products
from tta.scoring.engines.onnxruntime.graphs.weights import Weights


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
        weights = self._weights()
        inputs = self._inputs(weights)
        weights.graph.output("states", self._encoded(inputs, weights))
        return weights.graph

    def embeddings(self) -> Graph:
        """The output of the embedding layer: [B, T, D]."""
        weights = self._weights()
        inputs = self._inputs(weights)
        embeddings = weights.of("encoder").of("embeddings")
        weights.graph.output("embeddings", embed(inputs, embeddings, self.config.part("encoder")))
        return weights.graph

    def posterior(self) -> Graph:
        """The mean of the latent vectors, and of a VAE the log-variance: [B, K P or 2 K P]."""
        config, size = self.config, self.config.hidden_size
        weights = self._weights()
        inputs = self._inputs(weights)
        if config.num_latents == 1:  # of the begin token
            first = inputs.ids.slice(1, 0, 1).reshape(-1).cast(np.int64) * np.int64(0)
            pooled = self._encoded(replace(inputs, positions=first), weights)
        else:
            states, queries = self._encoded(inputs, weights), weights.of("pooling")["queries"]
            scores = (queries * size**-0.5) @ states.transpose(0, 2, 1)  # [B, K, T]
            attended = masked_softmax(scores.expand(1), inputs.mask.expand(1))
            pooled = attended.reshape(0, config.num_latents, -1) @ states
        vectors = pooled @ weights.of("connector")["kernel"]  # [B, K, P or 2 P]
        parts = range(1 + config.variational)
        found = [
            vectors.slice(2, config.latent_size * part, config.latent_size * (part + 1))
            for part in parts
        ]
        found = [part.reshape(0, config.latent_numbers) for part in found]
        weights.graph.output("posterior", concatenate(found, 1))
        return weights.graph

    # Of the decoder.

    def decoded_ids(self) -> Graph:
        """The most probable token at each position: [B, T] int32."""
        weights = self._weights()
        inputs = self._inputs(weights)
        found = self._all_logits(self._decoded(inputs, weights), weights).argmax(1)
        weights.graph.output("ids", _like(found, inputs.ids), np.int32)
        return weights.graph

    def decoded_ids_and_scores(self) -> Graph:
        """As `decoded_ids`, and the log-probabilities of these tokens, [B, T] float32."""
        weights = self._weights()
        inputs = self._inputs(weights)
        found = self._all_logits(self._decoded(inputs, weights), weights)
        scores = found.max(1, keepdims=True) - log_sum_exp(found)
        weights.graph.output("ids", _like(found.argmax(1), inputs.ids), np.int32)
        weights.graph.output("scores", _like(scores, inputs.ids))
        return weights.graph

    def decoded_scores(self) -> Graph:
        """log p of the tokens "targets" [B, T] int32: [B, T] float32, 0 at padding."""
        weights = self._weights()
        inputs = self._inputs(weights)
        targets = weights.graph.input("targets", np.int32, ["batch", "tokens"]).reshape(-1)
        is_real = inputs.mask.reshape(-1)
        positions = is_real.positions()
        rows = self._decoded(inputs, weights).take(positions)
        scores = log_probabilities(
            rows, targets.take(positions), weights, self.config, self.normalizer
        )
        scores = spread(scores, is_real, axis=0, rank=1)
        weights.graph.output("scores", _like(scores, inputs.ids))
        return weights.graph

    # Of an autoregressive decoder, one token at a time.

    def cache(self) -> Graph:
        """The keys and values of "latent" [B, K P], before any token: [2 L, B, N, 1, H]."""
        weights = self._weights()
        rows = _memory_heads(self._latent(weights)["memory"], self.config)
        pairs = [row.expand(0) for row in rows for _ in ("key", "value")]
        weights.graph.output("cache", concatenate(pairs, 0))
        return weights.graph

    def next_ids(self) -> Graph:
        """The most probable next tokens, [B] int32, and the cache with one more key.

        Reads "input_ids" [B, 1], the last tokens; "position" [1] int64, their position; "latent";
        and the "cache" [2 L, B, N, S, H], at position 0 that of `cache`.
        """
        weights, config = self._weights(), self.config.part("decoder")
        graph, decoder = weights.graph, weights.of("decoder")
        ids = graph.input("input_ids", np.int32, ["batch", 1])
        position = graph.input("position", np.int64, [1])
        cache = graph.input("cache", np.float32, ["pairs", "batch", "heads", "keys", "head_size"])
        tables = decoder.of("embeddings")
        total = tables["token_table"].take(ids) + tables["position_table"].take(position)
        total = total + self._latent(weights)["added"]
        hidden = layer_norm(total, tables.of("norm"), config.layer_norm_eps)
        mask = (arange(cache.size(3) + np.int64(1)) >= np.int64(0)).expand(0).expand(0)
        after = []
        for layer in range(config.num_hidden_layers):
            here, is_last = decoder.of(f"layer_{layer}"), layer == config.num_hidden_layers - 1
            pairs = zip(range(2), project(hidden, here.of("attention"), config), strict=True)
            projected = [
                concatenate([cache.take(np.int64(2 * layer + number)), new], 2)
                for number, new in pairs
            ]
            hidden = block(hidden, hidden, mask, here, config, projected=projected, is_last=is_last)
            after += [one.expand(0) for one in projected]
        graph.output("ids", self._all_logits(hidden, weights).argmax(1), np.int32)
        graph.output("cache_after", concatenate(after, 0))
        return graph

    def _weights(self):
        exact = magnified_products(self.config, "encoder", "decoder") if self.rounded else None
        return Weights(Graph(), self.arrays, exact=exact)

    def _inputs(self, weights):
        graph = weights.graph
        return Inputs(
            ids=graph.input("input_ids", np.int32, ["batch", "tokens"]),
            mask=graph.input("padding_mask", np.bool_, ["batch", "tokens"]),
        )

    def _encoded(self, inputs, weights):
        return encode(inputs, weights.of("encoder"), self.config.part("encoder"))

    def _latent(self, weights):
        """What `LatentInputs` makes of the input "latent": "added" [B, 1, D] and, if there are
        several or the decoder is autoregressive, "memory" [B, K or L, D].
        """
        config, here = self.config, weights.of("latent_inputs")
        latent = weights.graph.input("latent", np.float32, ["batch", config.latent_numbers])
        found = {"added": (latent @ here["added_kernel"]).expand(1)}
        if config.num_memories:
            rows = latent @ here["memory_kernel"]
            found["memory"] = rows.reshape(-1, config.num_memories, config.hidden_size)
        elif config.num_latents > 1:
            vectors = latent.reshape(-1, config.num_latents, config.latent_size)
            found["memory"] = vectors @ here["memory_kernel"]
        return found

    def _decoded(self, inputs, weights):
        """The outputs of the decoder, in rows: [B T, D]."""
        config, latent = self.config, self._latent(weights)
        decoder, part = weights.of("decoder"), config.part("decoder")
        if config.decoder_type == "unilm":
            states = _autoregressive(inputs, latent, decoder, part)
        else:
            inputs = replace(inputs, num_latents=config.num_latents, **latent)
            states = encode(inputs, decoder, part)
        return states.reshape(-1, config.hidden_size)

    def _all_logits(self, states, weights):
        config = self.config
        features = transform(states.reshape(-1, config.hidden_size), weights, config)
        return logits(features, weights, config, 0, config.vocab_size)


def _autoregressive(inputs, latent, weights, config):
    """[B, T, D]: a uniLM that also attends to a memory; the output at a token predicts that token.

    Nothing predicts the first one. Its output is 0.
    """
    before = Inputs(
        ids=inputs.ids.slice(1, 0, -1), mask=inputs.mask.slice(1, 0, -1), added=latent["added"]
    )
    hidden, mask = embed(before, weights.of("embeddings"), config), causal_mask(before)
    mask = with_memory(mask, 1)
    for layer, row in enumerate(_memory_heads(latent["memory"], config)):
        here, is_last = weights.of(f"layer_{layer}"), layer == config.num_hidden_layers - 1
        projected = project(hidden, here.of("attention"), config)
        projected = [concatenate([row, one], 2) for one in projected]
        hidden = block(hidden, hidden, mask, here, config, projected=projected, is_last=is_last)
    return hidden.pad([(0, 0), (1, 0), (0, 0)])


def _memory_heads(memory, config):
    """For each layer of a uniLM one more key, which is also the value: [B, N, 1, H]."""
    num_heads = config.num_attention_heads
    return [
        split_heads(memory.slice(1, layer, layer + 1), num_heads, config.hidden_size // num_heads)
        for layer in range(config.num_hidden_layers)
    ]


def _like(values, ids):
    """[B T] or [B T, 1] -> [B, T]."""
    return values.reshape(ids.size(0), ids.size(1))
