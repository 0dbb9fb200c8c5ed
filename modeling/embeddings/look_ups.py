"""What a model reads besides the ids of tokens, by its config."""

from collections.abc import Callable
from typing import Any

from tta.data.records.inputs import ModelInputs
from tta.modeling.config.base import ModelConfig
from tta.modeling.embeddings.inputs import CHARACTERS, VECTORS


def inputs_of(
    config: ModelConfig,
    vocabulary: Any,
    vectors: Callable[[Any], Any] | None = None,
    characters: Callable[[Any], Any] | None = None,
) -> ModelInputs:
    """The features that the input layer of a model needs, for training and scoring.

    Args:
        config: the model's config. Its `vocab_size` may be smaller than the vocabulary of words;
            the ids of the other words become the unknown id, after their features are looked up.
        vocabulary: has a length and an `unk_id`.
        vectors: from ids [B, T] to the vectors of words [B, T, m].
        characters: from ids [B, T] to the characters of words [B, T, C] int32.
    """
    given = {"vectors": (VECTORS, vectors), "characters": (CHARACTERS, characters)}
    name, look_up = given.get(getattr(config, "input_layer", ""), (None, None))
    look_ups = {name: look_up} if name and look_up else {}
    if config.tokenizer == "word_pieces":
        return ModelInputs(look_ups)
    return ModelInputs(look_ups, config.vocab_size, vocabulary.unk_id)
