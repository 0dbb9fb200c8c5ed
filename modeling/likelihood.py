"""How trained models score the tokens of a sentence, by family.

B batch, T tokens, D hidden size, V vocabulary.
"""

from dataclasses import dataclass
from typing import Any

from keras import ops

from tta.choices import SOFTMAX_NORMALIZERS
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES, ModelType, check_variant
from tta.modeling.functions.heads import predicting_states, token_scores
from tta.modeling.kits.keras import KerasKit
from tta.modeling.kits.types import Tensor
from tta.modeling.layers.token_weights import inner_weights
from tta.modeling.models.language_model import LanguageModel


def likelihood_of(
    model_type: str, vocabulary: Any, pll_variant: str = "original", normalizer: str = "exact"
) -> Any:
    """The `Likelihood` of a family of models, which takes the same arguments.

    Raises:
        InputError: the family is unknown, gives no probabilities, or does not have the variant.
    """
    likelihood = MODEL_TYPES.load(model_type).part("likelihood")
    if likelihood is None:
        raise InputError(f"a model of type {model_type} gives no sentence scores")
    return likelihood(model_type, vocabulary, pll_variant, normalizer)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Scores the tokens of sentences with a model of one family; its settings cannot change.

    T-TA and cloze predict every token from all others, in one pass (paper, section 4.1), a uniLM
    from the tokens before it, so that the begin token has no score. A uniLM reads left to right
    within words as well: "within_word_l2r" equals "original".

    Args:
        model_type: the family.
        vocabulary: has a `mask_id` where the family masks tokens.
        pll_variant: what a token's score is computed from (docs/scoring.md), one of
            the family's `pll_variants`.
        normalizer: "exact": log-probabilities; "learned": without the sum over the vocabulary, for
            models trained to keep its logarithm near 0.

    Raises:
        InputError: the family does not have the variant.
        ValueError: `normalizer` is unknown.
    """

    model_type: str
    vocabulary: Any
    pll_variant: str = "original"
    normalizer: str = "exact"

    def __post_init__(self):
        if self.normalizer not in SOFTMAX_NORMALIZERS:
            raise ValueError(f"normalizer must be exact or learned, not {self.normalizer!r}")
        check_variant(self.model_type, self.pll_variant)

    @property
    def family(self) -> ModelType:
        """What the family says of itself."""
        return MODEL_TYPES.load(self.model_type)

    @property
    def scores_first_token(self) -> bool:
        """Whether the begin token has a score."""
        return not self.family.predicts_next

    @property
    def takes_one_pass(self) -> bool:
        """Whether one pass of the model scores all tokens of a sentence."""
        return not self.family.masks_tokens(self.pll_variant)

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

        def encode(ids, is_real, wanted):
            tokens = inputs | {"input_ids": ids, "padding_mask": is_real}
            return self.token_states(model, tokens, wanted)

        def score(states, targets, wanted):
            return model.log_probabilities(states, targets, wanted, self.normalizer, output_table)

        return token_scores(
            KerasKit(),
            encode,
            score,
            ids=inputs["input_ids"],
            is_real=inputs["padding_mask"],
            wanted=wanted,
            predicts_next=self.family.predicts_next,
        )

    def token_states(
        self, model: LanguageModel, inputs: dict[str, Any], wanted: Tensor | None = None
    ) -> Any:
        """The last layer's output at each token, float32, as computed for the scores: [B, T, D].

        It has not seen its token, except that of a causal model, whose output at a token gives the
        score of the next one (see `predicting_states`).
        """
        return model.encode(self.visible(model, inputs, wanted), training=False)["hidden_states"]

    def predicting_states(
        self, model: LanguageModel, inputs: dict[str, Any], wanted: Tensor | None = None
    ) -> Any:
        """The last layer's output that predicts each token, at the token's position: [B, T, D].

        It has not seen its token. Zeros where nothing predicts the token.
        """

        def encode(ids, is_real):
            tokens = inputs | {"input_ids": ids, "padding_mask": is_real}
            return self.token_states(model, tokens, None if self.family.predicts_next else wanted)

        return predicting_states(
            KerasKit(),
            encode,
            ids=inputs["input_ids"],
            is_real=inputs["padding_mask"],
            predicts_next=self.family.predicts_next,
        )

    def predictions(
        self, model: LanguageModel, inputs: dict[str, Any], wanted: Tensor | None = None
    ) -> Any:
        """The head's output that predicts each token, at its position: [B, T, ...] float32."""
        return model.head(self.predicting_states(model, inputs, wanted))

    def visible(
        self, model: LanguageModel, inputs: dict[str, Any], wanted: Tensor | None = None
    ) -> dict[str, Any]:
        """The entries of `inputs` that the encoder takes, and `wanted` if it takes that.

        It gets "word_ids" if the variant needs them.
        """
        takes, needs = model.encoder.optional_inputs, ["input_ids", "padding_mask"]
        if self.pll_variant == "within_word_l2r" and "word_ids" in takes:
            needs.append("word_ids")
        available = inputs if wanted is None else inputs | {"wanted": wanted}
        optional = [name for name in takes if name in available and name != "word_ids"]
        return {name: available[name] for name in needs + optional}

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


class MaskedLikelihood(Likelihood):
    """The pseudo-log-likelihood of a masked language model, biLM or BERT: T passes for T tokens.

    "within_word_l2r" masks the later pieces of the token's word as well. "maskless" takes one pass
    over the unchanged sentence, in which each token sees itself.
    """

    def token_scores(self, model, inputs, wanted=None, output_table=None):
        """As `Likelihood.token_scores`, one position at a time, in the memory of one pass."""
        if self.takes_one_pass:
            return super().token_scores(model, inputs, wanted, output_table)
        ids = inputs["input_ids"]

        def score_position(t, scores):
            state = self._masked_state(model, inputs, t)
            score = model.log_probabilities(  # [B, 1]
                state,
                _at(t, ids),
                None if wanted is None else _at(t, wanted),
                normalizer=self.normalizer,
                output_table=output_table,
            )
            return ops.where(ops.arange(ops.shape(ids)[1]) == t, score, scores)

        zeros = ops.zeros(ops.shape(ids), "float32")
        return _for_positions(ids, wanted, score_position, zeros)

    def token_states(self, model, inputs, wanted=None):
        """As `Likelihood.token_states`; each token's state is computed where it is masked."""
        if self.takes_one_pass:
            return super().token_states(model, inputs)
        shape = ops.shape(inputs["input_ids"])

        def keep_position(t, states):
            state = self._masked_state(model, inputs, t)  # [B, 1, D]
            return ops.where((ops.arange(shape[1]) == t)[:, None], state, states)

        zeros = ops.zeros((*shape, model.config.hidden_size), "float32")
        return _for_positions(inputs["input_ids"], wanted, keep_position, zeros)

    def _masked_state(self, model, inputs, t):
        """The last layer's output at position t, alone, with that token masked: [B, 1, D]."""
        ids = inputs["input_ids"]
        positions = ops.arange(ops.shape(ids)[1])
        hidden = positions == t  # [T]
        if self.pll_variant == "within_word_l2r":
            is_same_word = ops.equal(inputs["word_ids"], _at(t, inputs["word_ids"]))
            hidden = ops.logical_and(is_same_word, positions >= t)  # [B, T]
        masked_ids = ops.where(hidden, self.vocabulary.mask_id, ids)
        masked = inputs | {"input_ids": masked_ids, "positions": ops.reshape(t, (1,))}
        return model.encode(self.visible(model, masked), training=False)["hidden_states"]


def _for_positions(ids, wanted, body, initial):
    """Loops over the T positions of ids [B, T], or over those that any sentence needs."""
    if wanted is None:
        return ops.fori_loop(0, ops.shape(ids)[1], body, initial)
    positions = ops.nonzero(ops.any(wanted, axis=0))[0]
    return ops.fori_loop(
        0, ops.shape(positions)[0], lambda i, x: body(ops.take(positions, i), x), initial
    )


def _at(t, x):
    """[B, T, ...] -> [B, 1, ...]: x at position t."""
    return ops.take(x, ops.reshape(t, (1,)), axis=1)
