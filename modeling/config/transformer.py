"""The config of T-TA, biLM and uniLM: BERT's keys, and the ones T-TA adds."""

from dataclasses import dataclass
from typing import Any, ClassVar

from tta.modeling.config import checks
from tta.modeling.config.base import ModelConfig
from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.config.weights import (
    Dropout,
    LayerTable,
    Weight,
    WeightTable,
    add_norm,
    attention,
    dense,
    feed_forward,
    layer_norm,
)

# The sizes in BERT's spelling.
COUNTS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
)

ACTIVATIONS = ("gelu", "gelu_tanh", "relu")


@dataclass(frozen=True, kw_only=True)
class TransformerSizes(ModelConfig):
    """The shape of a stack of Transformer blocks; the defaults are the paper's (section 5.1).

    Attributes:
        num_hidden_layers: layers of the encoder.
        num_attention_heads: N; divides hidden_size.
        intermediate_size: width of the feed-forward layer.
        hidden_act: activation of the feed-forward layer and the head: "gelu" (exact), "gelu_tanh"
            (the approximation in Google's BERT code) or "relu".
        hidden_dropout_prob: dropout of embeddings and of each sub-layer's output, in [0, 1).
        attention_probs_dropout_prob: dropout of attention weights, in [0, 1).
        max_position_embeddings: length of the longest sequence, with begin and end tokens.
        initializer_range: standard deviation of the truncated normal of the initial weights.
        layer_norm_eps: epsilon of every LayerNorm.
        first_query_token_id: id of a token whose embedding is added to the position embedding in
            the first query ([MASK] = 4 in the original code). None adds nothing (the paper).
        norm_first: whether LayerNorm comes before each sub-layer (pre-LayerNorm) instead of after
            its residual sum; the stack then ends in a LayerNorm.
        max_relative_distance: the largest distance between two tokens that attention tells from
            smaller ones; 0 adds nothing for distances.
    """

    dropouts: ClassVar[tuple[str, ...]] = ("hidden_dropout_prob", "attention_probs_dropout_prob")

    # What a family may replace by a field of its own.
    norm_first = False
    max_relative_distance = 0

    num_hidden_layers: int = 3
    num_attention_heads: int = 8
    intermediate_size: int = 2048
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 128
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    first_query_token_id: int | None = None

    def check(self) -> None:
        super().check()
        checks.require_counts(self, *COUNTS)
        checks.require_rates(self, "hidden_dropout_prob", "attention_probs_dropout_prob")
        checks.require_positive(self, "initializer_range", "layer_norm_eps")
        checks.require_choice(self, "hidden_act", ACTIVATIONS)
        size, heads = self.hidden_size, self.num_attention_heads
        rule = "hidden_size must be a multiple of num_attention_heads"
        checks.require(size % heads == 0, rule, f"{size} and {heads}")
        token = self.first_query_token_id
        good = token is None or 0 <= token < self.vocab_size
        checks.require(good, "first_query_token_id must be null or a token's id", token)
        checks.require_layers(self, "num_hidden_layers")

    @property
    def last_norm(self) -> str | None:
        """As `LanguageModelConfig.last_norm`."""
        return f"layer_{self.num_hidden_layers - 1}/feed_forward_norm/norm"

    @property
    def magnified_products(self) -> tuple[str, ...]:
        """As `LanguageModelConfig.magnified_products`: those after the last attention."""
        last = f"layer_{self.num_hidden_layers - 1}"
        names = "attention/output", "feed_forward/intermediate", "feed_forward/output"
        return tuple(f"{last}/{name}" for name in names)

    @property
    def encoder_weights(self) -> WeightTable:
        """The weights of the embeddings and the blocks."""
        blocks = self.stack_weights("layer", self.num_hidden_layers, ends_encoder=True)
        return {"embeddings": self._layer("Embeddings", self.embedding_weights)} | blocks

    @property
    def embedding_weights(self) -> WeightTable:
        """The tables of tokens, positions and segments, and their LayerNorm."""
        rows = {"token": self.vocab_size, "position": self.max_position_embeddings}
        rows |= {"segment": self.num_segments} if self.num_segments else {}
        size, start = self.hidden_size, self.initializer_range
        tables = {f"{name}_table": Weight((count, size), start) for name, count in rows.items()}
        return {**tables, "norm": layer_norm(size), "drop": Dropout(self.hidden_dropout_prob)}

    def block_weights(self, is_last: bool = False) -> WeightTable:
        """The weights of a block; `is_last` is whether it is the last one of the encoder."""
        size, start = self.hidden_size, self.initializer_range
        fed = feed_forward(size, self.intermediate_size, start)
        return {
            "attention": attention(
                size,
                self.num_attention_heads,
                start=start,
                max_relative_distance=self.max_relative_distance,
                dropout=self.attention_probs_dropout_prob,
            ),
            "attention_norm": self.norm_weights(),
            "feed_forward": self._layer("FeedForward", fed),
            "feed_forward_norm": self.norm_weights(is_last),
        }

    def norm_weights(self, is_last: bool = False, dropout: float | None = None) -> WeightTable:
        """The weights of the end of a sub-layer; arguments as in the layer `AddNorm`."""
        rate = self.hidden_dropout_prob if dropout is None else dropout
        table = add_norm(self.hidden_size, rate)
        return self._layer("AddNorm", table, is_last=is_last, dropout=dropout)

    def stack_weights(self, name: str, num_blocks: int, ends_encoder: bool = False) -> WeightTable:
        """The weights of blocks: name_0, name_1, ...; the last one may be the encoder's last."""
        block = MODEL_TYPES.load(self.model_type).block
        lasts = [ends_encoder and i == num_blocks - 1 for i in range(num_blocks)]
        return {
            f"{name}_{i}": LayerTable(
                block, self.block_weights(is_last), config=self, is_last=is_last
            )
            for i, is_last in enumerate(lasts)
        }

    def _layer(self, kind, table, **arguments):
        """The table of one of the layers in `layers/blocks.py`."""
        return LayerTable(f"tta.modeling.layers.blocks:{kind}", table, config=self, **arguments)


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(TransformerSizes, LanguageModelConfig):
    """The shape of a T-TA or a Transformer with a head.

    Attributes:
        num_segments: rows of a BERT's segment (token type) table; 0 if there is none.
    """

    num_segments: int = 0

    def check(self) -> None:
        super().check()
        is_self_masked = MODEL_TYPES.load(self.model_type).has_self_masked_blocks
        good = self.num_segments == 0 or (self.num_segments > 0 and not is_self_masked)
        checks.require(good, "num_segments must be 0, or more in a BERT", self.num_segments)

    @property
    def unread(self) -> tuple[str, ...]:
        """As in `ModelConfig`: only blocks with a query of their own begin with a first query."""
        has_query = MODEL_TYPES.load(self.model_type).has_self_masked_blocks
        return () if has_query else ("first_query_token_id",)

    @property
    def can_exchange_pieces(self) -> bool:
        """As in `ModelConfig`: the tied head has no pieces of its own but its bias."""
        return self.output_layer == "tied_softmax"

    def to_dict(self) -> dict[str, Any]:
        return {n: v for n, v in super().to_dict().items() if n != "num_segments" or v}


@dataclass(frozen=True, kw_only=True)
class ClozeConfig(TransformerSizes, LanguageModelConfig):
    """The shape of a cloze encoder with a head.

    Attributes:
        model_type: "cloze".
        num_tower_layers: layers of each of the two towers.
        num_hidden_layers: combining layers, which read the towers.
        norm_first, max_relative_distance: as in `TransformerSizes`, for towers and combining
            layers.
    """

    fixed: ClassVar[tuple[str, ...]] = ("num_segments",)

    model_type: str = "cloze"
    num_tower_layers: int = 1
    num_hidden_layers: int = 1
    norm_first: bool = False
    max_relative_distance: int = 0

    def check(self) -> None:
        checks.require_counts(self, "num_tower_layers")
        distance, length = self.max_relative_distance, self.max_position_embeddings
        rule = f"max_relative_distance must lie in [0, max_position_embeddings {length})"
        checks.require(0 <= distance < length, rule, distance)
        super().check()
        checks.require_layers(self, "num_tower_layers", "a tower")

    can_exchange_pieces = TransformerConfig.can_exchange_pieces

    @property
    def last_norm(self):
        return "final_norm/norm" if self.norm_first else super().last_norm

    @property
    def encoder_weights(self) -> WeightTable:
        size, sides = self.hidden_size, ("forward", "backward")
        table = super().encoder_weights
        for side in sides:
            table |= self.stack_weights(side, self.num_tower_layers)
        query = dense(size, size, self.initializer_range)
        table |= {f"{side}_query": query for side in sides}
        table["query_norm"] = self.norm_weights()
        ends = (*sides, "final") if self.norm_first else ()
        return table | {f"{side}_norm": self.norm_weights(dropout=0.0) for side in ends}
