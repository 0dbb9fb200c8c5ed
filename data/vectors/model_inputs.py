"""What a model reads besides the ids of tokens, by its config."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tta.data.records.features import CHARACTERS, INPUT_VECTORS
from tta.data.records.inputs import ModelInputs
from tta.data.vectors.word_inputs import CharacterInputs, word_vectors_in
from tta.errors import InputError


def inputs_of(
    config: Any,
    tokenizer: Any,
    vectors: Callable[[Any], Any] | None = None,
) -> ModelInputs:
    """The features that the input layer of a model needs, for training and scoring.

    Args:
        config: the `ModelConfig` of the model. Its `vocab_size` may be smaller than the vocabulary
            of words: other words become the unknown id, after their features are looked up.
        tokenizer: that of the model; None is allowed for word pieces.
        vectors: from ids [B, T] to the vectors of words [B, T, m].

    Raises:
        InputError: characters are those of words, and the tokenizer splits into pieces.
    """
    look_ups: dict[str, Any] = {}
    input_layer = getattr(config, "input_layer", None)
    if input_layer == "vectors":
        look_ups[INPUT_VECTORS] = vectors
    if input_layer == "characters":
        if config.tokenizer != "words":
            raise InputError("input_layer characters needs a data set of words (--tokenizer=words)")
        look_ups[CHARACTERS] = CharacterInputs(tokenizer).look_up
    if config.tokenizer == "words":
        return ModelInputs(look_ups, config.vocab_size, tokenizer.vocabulary.unk_id)
    return ModelInputs(look_ups)


def inputs_in(directory: Path | str, config: Any, tokenizer: Any) -> ModelInputs:
    """As `inputs_of`, with the vectors in a model directory.

    Raises:
        InputError: a file is missing or damaged.
    """
    vectors = None
    if getattr(config, "input_layer", None) == "vectors":
        vectors = word_vectors_in(directory, tokenizer).look_up
    return inputs_of(config, tokenizer, vectors)
