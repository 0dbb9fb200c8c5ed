"""Reads checkpoints of the original TensorFlow 1 code, by its variable names."""

import json
import math
from pathlib import Path

import tensorflow as tf

from tta.errors import InputError
from tta.modeling.config import ModelConfig
from tta.modeling.models import LanguageModel
from tta.modeling.weights import assign_weights

# The original T-TA code's special tokens: [PAD] 0, [EOS] 1, [UNK] 2, [SOS] 3, [MASK] 4.
ORIGINAL_MASK_ID = 4

# What TensorFlow raises of a file that is missing or damaged; IndexError of one cut short.
READ_ERRORS = (tf.errors.OpError, IndexError, RuntimeError, ValueError)

# In a layer: our name -> the original's. Every name ends in what the variable is.
_LAYER = {
    "attention/query/kernel": "attention/self/query/kernel",
    "attention/query/bias": "attention/self/query/bias",
    "attention/key/kernel": "attention/self/key/kernel",
    "attention/key/bias": "attention/self/key/bias",
    "attention/value/kernel": "attention/self/value/kernel",
    "attention/value/bias": "attention/self/value/bias",
    "attention/output/kernel": "attention/output/dense/kernel",
    "attention/output/bias": "attention/output/dense/bias",
    "attention_norm/norm/gamma": "attention/output/LayerNorm/gamma",
    "attention_norm/norm/beta": "attention/output/LayerNorm/beta",
    "feed_forward/intermediate/kernel": "intermediate/dense/kernel",
    "feed_forward/intermediate/bias": "intermediate/dense/bias",
    "feed_forward/output/kernel": "output/dense/kernel",
    "feed_forward/output/bias": "output/dense/bias",
    "feed_forward_norm/norm/gamma": "output/LayerNorm/gamma",
    "feed_forward_norm/norm/beta": "output/LayerNorm/beta",
}
_AROUND = {
    "encoder/embeddings/token_table": "bert/embeddings/word_embeddings",
    "encoder/embeddings/position_table": "bert/embeddings/position_embeddings",
    "encoder/embeddings/norm/gamma": "bert/embeddings/LayerNorm/gamma",
    "encoder/embeddings/norm/beta": "bert/embeddings/LayerNorm/beta",
    "head/transform/kernel": "cls/predictions/transform/dense/kernel",
    "head/transform/bias": "cls/predictions/transform/dense/bias",
    "head/transform_norm/gamma": "cls/predictions/transform/LayerNorm/gamma",
    "head/transform_norm/beta": "cls/predictions/transform/LayerNorm/beta",
    "head/bias": "cls/predictions/output_bias",
}


def original_names(num_hidden_layers):
    """{our weight's name: the original code's variable name} for a T-TA of that depth."""
    names = dict(_AROUND)
    for i in range(num_hidden_layers):
        for ours, theirs in _LAYER.items():
            names[f"encoder/layer_{i}/{ours}"] = f"bert/encoder/layer_{i}/{theirs}"
    return names


def is_original(directory):
    """Whether a directory holds a checkpoint of the original code."""
    return any(Path(directory).glob("*.ckpt*.index"))


def load_original(directory, dtype="float32"):
    """Builds the model of a directory of the original code (`config.json`, `model.ckpt.*`).

    The original's first query is its [MASK] token's embedding + position; its unused pooler and
    the optimizer's variables are left aside.

    Args:
        directory: path of the directory.
        dtype: of the model, as in `LanguageModel`.

    Returns:
        `LanguageModel`.

    Raises:
        InputError: a file or variable is missing or unreadable, or a shape does not fit the config.
    """
    directory = Path(directory)
    config_path = directory / "config.json"
    config = ModelConfig.from_json(config_path)
    if "first_query_token_id" not in json.loads(config_path.read_text(encoding="utf-8")):
        config = config.replace(first_query_token_id=ORIGINAL_MASK_ID)
    prefix = _checkpoint_prefix(directory)
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
    except READ_ERRORS as error:
        raise InputError(
            f"not a readable TensorFlow checkpoint: {_first_line(error)}", prefix
        ) from None
    if any("token_type_embeddings" in name for name in shapes):
        raise InputError("a checkpoint of BERT (it has token_type_embeddings), not of T-TA", prefix)
    size = sum(math.prod(shape) for shape in shapes.values())
    if 2 * size < config.num_parameters:  # Before they are allocated.
        raise InputError(
            f"{size:,} values are too small for the {config.num_parameters:,} parameters that "
            "config.json asks for",
            prefix,
        )
    names = original_names(config.num_hidden_layers)
    model = LanguageModel(config, dtype=dtype)
    values = {}
    for ours, theirs in names.items():
        if theirs not in shapes:
            raise InputError(f"variable {theirs} is missing", prefix)
        try:
            values[ours] = reader.get_tensor(theirs)
        except READ_ERRORS as error:
            raise InputError(
                f"variable {theirs} cannot be read: {_first_line(error)}", prefix
            ) from None
    assign_weights(model, values, prefix)
    return model


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
