"""A model in two precisions, for reranking: int8 for all hypotheses, float32 for a few of them."""

from tta.scoring.engines.options import FOR_LISTS
from tta.scoring.scorers.scorer import Scorer


class MixedModel(Scorer):
    """One model in two precisions, wherever lists are reranked; `tta.load(precision="mixed")`.

    `tta.scoring.combining.mixed` says what is scored in which precision. Every method that scores
    or encodes texts without lists raises an InputError.

    Args:
        rounded: the model in int8, which scores all hypotheses.
        exact: the model in float32. It scores the hypotheses that may change a pick, and all of the
            lists on which weights are tuned, and gives the token scores of picks.
    """

    no_scores = no_log_probabilities = no_vectors = no_alignment = FOR_LISTS
    no_labels = no_model = no_attention = FOR_LISTS

    def __init__(self, rounded: Scorer, exact: Scorer):
        self.rounded, self.exact, self.name = rounded, exact, exact.name
        self.normalizer, self.tokenizer = exact.normalizer, exact.tokenizer

    @property
    def notes(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Those of the model in float32."""
        return self.exact.notes

    @property
    def signature(self) -> str:
        """That of the model in int8, and that float32 scores some hypotheses."""
        return f"{self.rounded.signature}|mixed:float32"


def in_int8(lm: Scorer) -> Scorer:
    """The part of a `MixedModel` that scores all hypotheses; any other model as it is."""
    return lm.rounded if isinstance(lm, MixedModel) else lm


def in_float32(lm: Scorer) -> Scorer:
    """The part of a `MixedModel` that scores texts alone; any other model as it is."""
    return lm.exact if isinstance(lm, MixedModel) else lm
