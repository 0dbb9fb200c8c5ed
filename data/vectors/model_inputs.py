"""What a model reads besides the ids of tokens, by its config."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tta.data.records.features import CHARACTERS, INPUT_VECTORS
from tta.data.records.inputs import ModelInputs
from tta.data.vectors.word_inputs import CharacterInputs, word_vectors_in
from tta.errors import InputError


def inputs_of(
    features: Sequence[str],
    config: Any,
    tokenizer: Any,
    vectors: Callable[[Any], Any] | None = None,
) -> ModelInputs:
    """The features that a model needs besides ids, for training and scoring.

    Args:
        features: their names, see `tta.data.records.features`.
        config: the `ModelConfig` of the model. Its `vocab_size` may be smaller than the vocabulary
            of words: other words become the unknown id, after their features are looked up.
        tokenizer: that of the model; None is allowed for word pieces.
        vectors: from ids [B, T] to the vectors of words [B, T, m].

    Raises:
        InputError: characters are those of words, and the tokenizer splits into pieces.
    """
    look_ups: dict[str, Any] = dict.fromkeys(features, vectors)
    if CHARACTERS in look_ups:
        if config.tokenizer != "words":
            raise InputError("input_layer characters needs a data set of words (--tokenizer=words)")
        look_ups[CHARACTERS] = CharacterInputs(tokenizer).look_up
    if config.tokenizer == "words":
        return ModelInputs(look_ups, config.vocab_size, tokenizer.vocabulary.unk_id)
    return ModelInputs(look_ups)


def inputs_in(directory: Path | str, config: Any, tokenizer: Any) -> ModelInputs:
    """As `inputs_of`, with a model directory's vectors; InputError if missing or damaged."""
    vectors, features = None, config.input_features
    if INPUT_VECTORS in features:
        vectors = word_vectors_in(directory, tokenizer).look_up
    return inputs_of(features, config, tokenizer, vectors)
