"""Reads TensorFlow 1 checkpoints: of the original T-TA's code, and of Google's BERT."""

import math
from pathlib import Path

import tensorflow as tf

from tta.errors import InputError
from tta.modeling.config.transformer import ModelConfig, read_json_object
from tta.modeling.formats.bert import (
    GOOGLE_ACTIVATIONS,
    SEGMENT_NAME,
    bert_config,
    check_names,
    fold_segments,
    original_names,
)
from tta.modeling.formats.weights import assign_weights
from tta.modeling.models.language_model import LanguageModel

# The original T-TA code's special tokens: [PAD] 0, [EOS] 1, [UNK] 2, [SOS] 3, [MASK] 4.
ORIGINAL_MASK_ID = 4

BERT_CONFIG = "bert_config.json"

# What TensorFlow raises of a file that is missing or damaged; IndexError of one cut short.
READ_ERRORS = (tf.errors.OpError, IndexError, RuntimeError, ValueError)


def is_original(directory):
    """Whether a directory holds a checkpoint of the original code."""
    return any(Path(directory).glob("*.ckpt*.index"))


def load_original(directory, dtype="float32"):
    """Builds the model of a directory of the original T-TA's code, or of BERT's.

    T-TA's has `config.json` and `model.ckpt.*`; its first query is its [MASK] token's embedding +
    position. BERT's has `bert_config.json` (or `config.json`) and `bert_model.ckpt.*`; it becomes a
    biLM, see `tta.modeling.formats.bert`. Poolers, next-sentence heads and the optimizer's variables are
    left aside.

    Args:
        directory: path of the directory.
        dtype: of the model, as in `LanguageModel`.

    Returns:
        `LanguageModel`.

    Raises:
        InputError: a file or variable is missing or unreadable, or a shape does not fit the config.
    """
    directory = Path(directory)
    prefix = _checkpoint_prefix(directory)
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
    except READ_ERRORS as error:
        raise InputError(
            f"not a readable TensorFlow checkpoint: {_first_line(error)}", prefix
        ) from None
    config_path = directory / BERT_CONFIG
    is_bert = config_path.exists() or SEGMENT_NAME in shapes
    if not config_path.exists():
        config_path = directory / "config.json"
    config = bert_config(config_path, GOOGLE_ACTIVATIONS) if is_bert else _tta_config(config_path)
    size = sum(math.prod(shape) for shape in shapes.values())
    if 2 * size < config.num_parameters:  # Before they are allocated.
        raise InputError(
            f"{size:,} values are too small for the {config.num_parameters:,} parameters that "
            f"{config_path.name} asks for",
            prefix,
        )
    names = original_names(config.num_hidden_layers, with_segments=is_bert)
    check_names(shapes, names.values(), prefix)
    values = {}
    for ours, theirs in names.items():
        try:
            values[ours] = reader.get_tensor(theirs)
        except READ_ERRORS as error:
            raise InputError(
                f"variable {theirs} cannot be read: {_first_line(error)}", prefix
            ) from None
    model = LanguageModel(config, dtype=dtype)
    assign_weights(model, fold_segments(values, prefix) if is_bert else values, prefix)
    return model


def _tta_config(path):
    """The original T-TA's config, whose first query is a token's unless it says otherwise."""
    config = ModelConfig.from_json(path)
    if "first_query_token_id" in read_json_object(path):
        return config
    return config.replace(first_query_token_id=ORIGINAL_MASK_ID)


def _checkpoint_prefix(directory):
    """The checkpoint that `checkpoint` names, else the only one there is."""
    found = sorted(p.with_suffix("") for p in directory.glob("*.ckpt*.index"))
    state = tf.train.get_checkpoint_state(str(directory))
    # By its name alone: its folder is the one where the model was trained.
    named = None if state is None else directory / Path(state.model_checkpoint_path).name
    if named in found:
        return named
    if len(found) != 1:
        raise InputError(f"expected one checkpoint (*.ckpt*.index), found {len(found)}", directory)
    return found[0]


def _first_line(error):
    return str(error).splitlines()[0]
