"""What a model computes for a batch, as ONNX graphs: token scores and token vectors.

B batch, T tokens, D hidden size. Every graph reads "input_ids" [B, T] int32 and "padding_mask"
[B, T] bool, True at real tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from tta.scoring.engines.onnxruntime.graphs.encoders import Inputs, embed, encode
from tta.scoring.engines.onnxruntime.graphs.graph import Graph, Tensor, cumsum, spread, where
from tta.scoring.engines.onnxruntime.graphs.head import log_probabilities
from tta.scoring.engines.onnxruntime.graphs.rounding import magnified_products
from tta.scoring.engines.onnxruntime.graphs.weights import Weights


@dataclass(frozen=True, eq=False)
class Network:
    """The graphs of a model.

    Attributes:
        config: a `LanguageModelConfig` of one of the families above.
        arrays: {name: float32 array} of the weights.
        pll_variant, normalizer: as in `tta.load`.
        continues_word: [V] bool, whether a piece continues a word; for "within_word_l2r".
        rounded: whether products that round well are computed in int8.
        unk_id: the token that stands for unknown words.
        prices: [C] float32, see `SpellingCosts.prices`. With it, the graphs of scores also read
            "characters" int32, the code points of each token that is scored, padded with 0: [B, T,
            C], or [B, C] of `masked_scores`. Unknown words pay for theirs.
    """

    config: Any
    arrays: Mapping[str, np.ndarray]
    pll_variant: str
    normalizer: str
    continues_word: np.ndarray | None = None
    rounded: bool = False
    unk_id: int = 0
    prices: np.ndarray | None = None

    @property
    def masks_tokens(self) -> bool:
        """Whether a token is masked to score it, so that each token takes a pass of its own."""
        return self.config.model_type == "bilm" and self.pll_variant != "maskless"

    def scores(self) -> Graph:
        """log p of every token: "wanted" [B, T] bool -> [B, T] float32, 0 if not wanted."""
        inputs, weights = self._inputs(wanted=True)
        ids, wanted = inputs.ids, cast(Tensor, inputs.wanted)
        tokens = where(wanted, ids.cast(np.int64), -1)
        if self.config.model_type == "unilm":  # each token but the last predicts the next
            ids, wanted = ids.slice(1, 1), wanted.slice(1, 1)
            before = inputs.ids.slice(1, 0, -1), inputs.mask.slice(1, 0, -1)
            inputs = Inputs(ids=before[0], mask=before[1])
        states, flat = encode(inputs, weights.of("encoder"), self.config), wanted.reshape(-1)
        positions = flat.positions()
        rows = states.reshape(-1, self.config.hidden_size).take(positions)
        scores = self._log_probabilities(rows, ids.reshape(-1).take(positions), weights)
        scores = spread(scores, flat, axis=0, rank=1).reshape(wanted.size(0), wanted.size(1))
        if self.config.model_type == "unilm":
            scores = scores.pad([(0, 0), (1, 0)])
        self._output(scores, tokens, ["batch", "tokens"])
        return weights.graph

    def masked_scores(self) -> Graph:
        """log p of one token of each sentence: its "positions" [B] int64 and "targets" [B] int32,
        the token that was masked there -> [B] float32.
        """
        inputs, weights = self._inputs(positions=True)
        targets = weights.graph.input("targets", np.int32, ["batch"])
        rows = encode(inputs, weights.of("encoder"), self.config)
        rows = rows.reshape(-1, self.config.hidden_size)
        scores = self._log_probabilities(rows, targets, weights)
        self._output(scores, targets.cast(np.int64), ["batch"])
        return weights.graph

    def masked_states(self) -> Graph:
        """The last layer's output at the "positions" [B] int64 of the sentences: [B, D]."""
        inputs, weights = self._inputs(positions=True)
        rows = encode(inputs, weights.of("encoder"), self.config)
        weights.graph.output("states", rows.reshape(-1, self.config.hidden_size))
        return weights.graph

    def states(self) -> Graph:
        """The last layer's output: [B, T, D]. "wanted" [B, T] bool are the tokens that count."""
        inputs, weights = self._inputs(wanted=True)
        weights.graph.output("states", encode(inputs, weights.of("encoder"), self.config))
        return weights.graph

    def embeddings(self) -> Graph:
        """The output of the embedding layer: [B, T, D]."""
        inputs, weights = self._inputs()
        embeddings = weights.of("encoder").of("embeddings")
        weights.graph.output("embeddings", embed(inputs, embeddings, self.config))
        return weights.graph

    def _inputs(self, wanted=False, positions=False):
        graph = Graph()
        inputs = Inputs(
            ids=graph.input("input_ids", np.int32, ["batch", "tokens"]),
            mask=graph.input("padding_mask", np.bool_, ["batch", "tokens"]),
        )
        if wanted:
            inputs = replace(inputs, wanted=graph.input("wanted", np.bool_, ["batch", "tokens"]))
        if positions:
            inputs = replace(inputs, positions=graph.input("positions", np.int64, ["batch"]))
        if self.pll_variant == "within_word_l2r" and self.config.model_type in ("tta", "cloze"):
            inputs = replace(inputs, word_ids=self._word_ids(graph, inputs.ids))
        exact = magnified_products(self.config, "encoder") if self.rounded else None
        return inputs, Weights(graph, self.arrays, exact=exact)

    def _word_ids(self, graph: Graph, ids: Tensor) -> Tensor:
        """[B, T] int64, equal at all pieces of a word."""
        continues = graph.weight("continues_word", np.asarray(self.continues_word, np.bool_))
        return cumsum((~continues.take(ids)).cast(np.int64), 1)

    def _output(self, scores, tokens, axes):
        """Scores of tokens, less what unknown words cost."""
        graph = scores.graph
        if self.prices is not None:
            characters = graph.input("characters", np.int32, [*axes, "characters"])
            codes = characters.cast(np.int64).clip(0, len(self.prices) - 1)
            costs = graph.weight("prices", self.prices).take(codes).sum(-1)
            scores = scores - where(tokens.equals(self.unk_id), costs, 0.0)
        graph.output("scores", scores)

    def _log_probabilities(self, states, targets, weights):
        return log_probabilities(states, targets, weights, self.config, self.normalizer)
