"""What likelihoods share. B batch, T tokens, D hidden size, V vocabulary."""

from dataclasses import dataclass
from typing import Any

from keras import ops

from tta.choices import NORMALIZERS
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.kits.types import Tensor
from tta.modeling.layers.masks import inner_weights
from tta.modeling.models.language_model import LanguageModel


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Scores the tokens of sentences with a model of one family; its settings cannot change.

    Args:
        model_type: the family.
        vocabulary: has a `mask_id` where the family masks tokens.
        pll_variant: what a token's score is computed from (docs/scoring.md), one of `pll_variants`.
        normalizer: "exact": log-probabilities; "learned": without the sum over the vocabulary, for
            models trained to keep its logarithm near 0.

    Attributes:
        pll_variants: the variants that the family has.
        scores_first_token: whether the begin token has a score.

    Raises:
        InputError: the family does not have the variant.
        ValueError: `normalizer` is unknown.
    """

    model_type: str
    vocabulary: Any
    pll_variant: str = "original"
    normalizer: str = "exact"

    @property
    def pll_variants(self) -> tuple[str, ...]:
        return MODEL_TYPES.load(self.model_type).pll_variants

    @property
    def scores_first_token(self) -> bool:
        return not MODEL_TYPES.load(self.model_type).predicts_next

    def __post_init__(self):
        if self.normalizer not in NORMALIZERS:
            raise ValueError(f"normalizer must be exact or learned, not {self.normalizer!r}")
        if self.pll_variant not in self.pll_variants:
            raise InputError(
                f"pll_variant must be {' or '.join(self.pll_variants)} for a model of type "
                f"{self.model_type}, not {self.pll_variant!r}"
            )

    @property
    def takes_one_pass(self) -> bool:
        """Whether one pass of the model scores all tokens of a sentence."""
        return True

    def token_scores(
        self,
        model: LanguageModel,
        inputs: dict[str, Any],
        wanted: Tensor | None = None,
        output_table: Tensor | None = None,
    ) -> Any:
        """Natural log-probability of every token of a sentence: [B, T] float32.

        Args:
            model: `LanguageModel` of the family.
            inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}. The variant
                "within_word_l2r" also needs "word_ids", as in `in_word`.
            wanted: [B, T] bool, the tokens whose scores are needed; None is all. Each other
                token gets 0 or its score.
            output_table: as in `LanguageModel.log_probabilities`.
        """
        raise NotImplementedError

    def token_states(
        self, model: LanguageModel, inputs: dict[str, Any], wanted: Tensor | None = None
    ) -> Any:
        """The last layer's output at each token, float32, as computed for the scores: [B, T, D].

        It has not seen its token, except that of a causal model, whose output at a token gives the
        score of the next one (see `predicting_states`).
        """
        return model.encode(self.visible(inputs, wanted), training=False)["hidden_states"]

    def predicting_states(
        self, model: LanguageModel, inputs: dict[str, Any], wanted: Tensor | None = None
    ) -> Any:
        """The last layer's output that predicts each token, at the token's position: [B, T, D].

        It has not seen its token. Zeros where nothing predicts the token.
        """
        return self.token_states(model, inputs, wanted)

    def predictions(
        self, model: LanguageModel, inputs: dict[str, Any], wanted: Tensor | None = None
    ) -> Any:
        """The head's output that predicts each token, at its position: [B, T, ...] float32."""
        return model.head(self.predicting_states(model, inputs, wanted))

    def visible(self, inputs: dict[str, Any], wanted: Tensor | None = None) -> dict[str, Any]:
        """The entries of `inputs` that the encoder takes."""
        return {name: inputs[name] for name in ("input_ids", "padding_mask")}

    def counted(self, padding_mask: Tensor, boundary_tokens: bool) -> Any:
        """1 at the tokens of a padding mask [B, T] that count in a score: [B, T] float32.

        `boundary_tokens` says whether begin and end tokens count.
        """
        if not boundary_tokens:
            return inner_weights(padding_mask)
        weights = ops.cast(padding_mask, "float32")
        if self.scores_first_token:
            return weights
        return ops.pad(weights[:, 1:], [[0, 0], [1, 0]])
