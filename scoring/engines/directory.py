"""The tokenizer of a model directory."""

from pathlib import Path
from typing import Any

from tta.data.vocabulary.load import AnyTokenizer, load_vocabulary, make_tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.modeling.formats.huggingface import is_padded
from tta.modeling.formats.model_directory import vocabulary_path


def tokenizer_in(directory: Path | str, config: Any) -> AnyTokenizer | None:
    """The tokenizer of a model with this `ModelConfig`; None without a vocabulary.

    Raises InputError if the vocabulary is not valid, or has another size than the model's.
    """
    path = vocabulary_path(directory)
    if not path.exists():
        return None
    vocabulary = load_vocabulary(config.tokenizer, path)
    if isinstance(vocabulary, Vocabulary) and is_padded(
        directory, len(vocabulary), config.vocab_size
    ):
        vocabulary = vocabulary.padded(config.vocab_size)
    size, expected = len(vocabulary), config.vocab_size
    # A softmax over the most frequent words leaves out the others.
    if size < expected or (size > expected and config.tokenizer == "word_pieces"):
        unit = "pieces" if config.tokenizer == "word_pieces" else "words"
        rule = f"it has {size} {unit}, but vocab_size in the config is {expected}"
        raise InputError(rule, path)
    return make_tokenizer(
        vocabulary, config.do_lower_case, config.open_vocabulary, config.normalization
    )
