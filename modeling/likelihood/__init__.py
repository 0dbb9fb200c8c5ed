"""How trained models score the tokens of a sentence, by family."""

from typing import Any

from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES


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
