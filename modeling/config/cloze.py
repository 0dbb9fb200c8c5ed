"""The config of a cloze: the sizes of its blocks, and how many the towers have."""

from dataclasses import dataclass
from typing import ClassVar

from tta.modeling.config.checks import require, require_counts, require_layers
from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.config.transformer import TransformerSizes
from tta.modeling.config.weights import WeightTable, add_norm, dense


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
        """Checks the sizes, the towers and the head."""
        require_counts(self, "num_tower_layers")
        distance, length = self.max_relative_distance, self.max_position_embeddings
        rule = f"max_relative_distance must lie in [0, max_position_embeddings {length})"
        require(0 <= distance < length, rule, distance)
        super().check()
        require_layers(self, "num_tower_layers", "a tower")

    @property
    def can_exchange_pieces(self) -> bool:
        """As in `ModelConfig`: the tied head has no pieces of its own but its bias."""
        return self.output_layer == "tied_softmax"

    @property
    def last_norm(self):
        return "final_norm/norm" if self.norm_first else super().last_norm

    @property
    def encoder_weights(self) -> WeightTable:
        """The weights of the embeddings, the combining blocks, the towers and the query."""
        size, sides = self.hidden_size, ("forward", "backward")
        table = super().encoder_weights
        for side in sides:
            table |= self.stack_weights(side, self.num_tower_layers)
        query = dense(size, size, self.initializer_range)
        table |= {f"{side}_query": query for side in sides}
        ends = (*sides, "final") if self.norm_first else ()
        norm = add_norm(size, self.hidden_dropout_prob)
        return table | {f"{name}_norm": norm for name in ("query", *ends)}
