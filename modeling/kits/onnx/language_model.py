"""What a model computes for a batch, as ONNX graphs: token scores and token vectors.

B batch, T tokens, D hidden size. Every graph reads "input_ids" [B, T] int32 and "padding_mask"
[B, T] bool, True at real tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tta.modeling.config.model_types import MODEL_TYPES, check_variant
from tta.modeling.functions.encoders import optional_inputs
from tta.modeling.functions.heads import scorer, token_scores
from tta.modeling.functions.masks import words_of
from tta.modeling.kits.onnx.graph import Graph, Tensor
from tta.modeling.kits.onnx.kit import OnnxKit
from tta.modeling.kits.onnx.ranges import LOGITS
from tta.modeling.kits.onnx.weights import Weights

TOKENS = ("batch", "tokens")


@dataclass(frozen=True, eq=False)
class Network:
    """The graphs of a model.

    Attributes:
        config: a `LanguageModelConfig` of a family whose encoder is a function over a kit.
        arrays: {name: float32 array} of the weights.
        pll_variant, normalizer: as in `tta.load`.
        continues_word: [V] bool, whether a piece continues a word; for "within_word_l2r".
        ranges: as in `Weights`; products that do not round well are float32 always.
        unk_id: the token that stands for unknown words.
        prices: [C] float32, see `SpellingCosts.prices`. With it, the graphs of scores also read
            "characters" int32, the code points of each token that is scored, padded with 0: [B, T,
            C], or [B, C] of `masked_scores`. Unknown words pay for theirs.
        is_shared: whether the graphs of scores and states read what states are shared, the `given`
            of `Distinct`: of each of the `towers`, "<tower>_index" [B, T] int64 and
            "<tower>_tokens" [U] int64. T tokens are those that the encoder reads.
    """

    config: Any
    arrays: Mapping[str, np.ndarray]
    pll_variant: str
    normalizer: str
    continues_word: np.ndarray | None = None
    ranges: Mapping[str, np.ndarray] | None = None
    unk_id: int = 0
    prices: np.ndarray | None = None
    is_shared: bool = False

    def __post_init__(self):
        check_variant(self.config.model_type, self.pll_variant)

    @cached_property
    def masks_tokens(self) -> bool:
        """As `ModelType.masks_tokens`, for the variant."""
        return MODEL_TYPES.load(self.config.model_type).masks_tokens(self.pll_variant)

    def scores(self) -> Graph:
        """log p of every token: "wanted" [B, T] bool -> [B, T] float32, 0 if not wanted."""
        k, w, ids, mask = self._start()
        family, wanted = MODEL_TYPES.load(self.config.model_type), self._wanted(w)

        def encode(ids, is_real, wanted):
            return self._encoded(k, w, ids, is_real, wanted)["hidden_states"]

        scores = token_scores(
            k,
            encode,
            scorer(k, w, self.config, self.normalizer),
            ids=ids,
            is_real=mask,
            wanted=wanted,
            predicts_next=family.predicts_next,
        )
        tokens = k.where(wanted, k.integer(ids), -1)
        return self._output(k, scores, tokens, TOKENS)

    def masked_scores(self) -> Graph:
        """log p of one token of each sentence: its "positions" [B] int64 and "targets" [B] int32,
        the token that was masked there -> [B] float32.
        """
        k, w, rows = self._masked_rows()
        targets = w.graph.input("targets", np.int32, ["batch"])
        scores = scorer(k, w, self.config, self.normalizer)(rows, targets)
        return self._output(k, scores, k.integer(targets), ["batch"])

    def masked_states(self) -> Graph:
        """The last layer's output at the "positions" [B] int64 of the sentences: [B, D]."""
        _, w, rows = self._masked_rows()
        return w.graph.output("states", rows)

    def states(self) -> Graph:
        """The last layer's output: [B, T, D]. "wanted" [B, T] bool are the tokens that count."""
        k, w, ids, mask = self._start()
        outputs = self._encoded(k, w, ids, mask, self._wanted(w))
        return w.graph.output("states", outputs["hidden_states"])

    def embeddings(self) -> Graph:
        """The output of the embedding layer: [B, T, D]."""
        k, w, ids, mask = self._start()
        outputs = self._encode(k, w.of("encoder"), self.config, ids, mask)
        return w.graph.output("embeddings", outputs["embedding_output"])

    def attention(self) -> Graph:
        """The weights of the keys in each attention, [B, N, T, S]: "attention_0", ...; S is T, or
        2T in a layer of a cloze's query.
        """
        scores = []
        k, w = started(self.config, self.arrays, self.ranges, attention_scores=scores)
        graph, real_tokens = w.graph, batch_of(w.graph)
        self._encoded(k, w, *real_tokens, None)
        for number, weights in enumerate(scores):
            graph.output(f"attention_{number}", weights)
        return graph

    @cached_property
    def towers(self) -> list[str]:
        """The towers of the encoder whose states sentences share: "forward", "backward"."""
        names = optional_inputs(self._encode) if self.is_shared else ()
        return [name for name in ("forward", "backward") if name in names]

    @property
    def _encode(self):
        return MODEL_TYPES.load(self.config.model_type).part("encoder")

    def _start(self):
        k, w = started(self.config, self.arrays, self.ranges)
        return k, w, *batch_of(w.graph)

    def _wanted(self, w):
        return w.graph.input("wanted", np.bool_, TOKENS)

    def _encoded(self, k, w, ids, mask, wanted):
        """What the encoder makes of a batch and of the optional inputs that it takes."""
        optional = {"wanted": wanted}
        if self.pll_variant == "within_word_l2r":
            continues = w.graph.weight("continues_word", np.asarray(self.continues_word, np.bool_))
            optional["word_ids"] = words_of(k, ids, continues)
        for name in self.towers:
            index = w.graph.input(f"{name}_index", np.int64, ["batch", "read"])
            optional[name] = index, w.graph.input(f"{name}_tokens", np.int64, [f"{name} states"])
        takes = optional_inputs(self._encode)
        inputs = {name: optional[name] for name in takes if name in optional}
        return self._encode(k, w.of("encoder"), self.config, ids, mask, **inputs)

    def _masked_rows(self):
        k, w, ids, mask = self._start()
        positions = w.graph.input("positions", np.int64, ["batch"])[:, None]
        outputs = self._encode(k, w.of("encoder"), self.config, ids, mask, positions=positions)
        return k, w, k.flat(outputs["hidden_states"], self.config.hidden_size)

    def _output(self, k, scores: Tensor, tokens: Tensor, axes) -> Graph:
        """Scores of tokens, less what unknown words cost."""
        graph = scores.graph
        if self.prices is not None:
            characters = k.integer(graph.input("characters", np.int32, [*axes, "characters"]))
            codes = k.clip(characters, 0, len(self.prices) - 1)
            costs = k.sum(k.take(graph.weight("prices", self.prices), codes), -1)
            scores = scores - k.where(k.equal(tokens, self.unk_id), costs, 0.0)
        return graph.output("scores", scores)


def started(
    config: Any,
    arrays: Mapping[str, np.ndarray],
    ranges: Mapping[str, np.ndarray] | None = None,
    encoders: tuple[str, ...] = ("encoder",),
    attention_scores: list[Tensor] | None = None,
):
    """(kit, weights) of a new graph.

    `ranges` are as in `Network`, `encoders` the model's, and `attention_scores` as in `Kit`.
    """
    exact = [f"{encoder}/{name}/" for encoder in encoders for name in config.magnified_products]
    kit = OnnxKit(config.layer_norm_eps, LOGITS in (ranges or ()), attention_scores)
    return kit, Weights(Graph(), arrays, "", (*exact, "head/transform/"), ranges)


def batch_of(graph: Graph) -> tuple[Tensor, Tensor]:
    """The inputs "input_ids" and "padding_mask" of a graph."""
    ids = graph.input("input_ids", np.int32, TOKENS)
    return ids, graph.input("padding_mask", np.bool_, TOKENS)
