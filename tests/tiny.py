"""A tiny model with random weights and a vocabulary of letters, for tests that need a whole one."""

import numpy as np

from tta.modeling.config.base import config_from
from tta.modeling.config.transformer import TransformerConfig

WORDS = ("the", "cat", "dog", "sat", "on", "mat", "ran", "home", "##s", ".", ",", "'")
TOKENS = ("[PAD]", "[EOS]", "[UNK]", "[SOS]", "[MASK]", *WORDS, *"abcdefghijklmnopqrstuvwxyz")
CONFIG = TransformerConfig(
    vocab_size=len(TOKENS),
    hidden_size=12,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=17,
    max_position_embeddings=11,
    initializer_range=0.5,
)


def of_family(model_type, config=CONFIG, **changes):
    """A config with the sizes of another one, of any family of Transformers."""
    return config_from(config.to_dict() | {"model_type": model_type} | changes)


def make_model(config=CONFIG, dtype="float32", seed=0):
    """A model whose every weight is random, biases and LayerNorms too; a seed has one model."""
    import keras

    from tta.modeling.models.language_model import LanguageModel

    keras.utils.set_random_seed(seed)
    model = LanguageModel(config, dtype=dtype)
    rng = np.random.default_rng(seed)
    for variable in model.named_weights().values():
        variable.assign(np.asarray(variable) + rng.normal(0, 0.3, variable.shape))
    return model


def write_model_directory(directory, config=CONFIG, seed=0):
    """Writes a model directory that `tta.load` takes."""
    from tta.modeling.formats.model_directory import save_model

    save_model(make_model(config, seed=seed), directory, "A tiny model with random weights.\n")
    (directory / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    return directory
