"""Reads Hugging Face's directories of a BERT: `config.json`, `model.safetensors`."""

import math
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from tta.errors import InputError
from tta.modeling.formats.bert import (
    HUGGINGFACE_ACTIVATIONS,
    bert_config,
    check_names,
    fold_segments,
    original_names,
)
from tta.modeling.formats.weights import assign_weights
from tta.modeling.models.language_model import LanguageModel

# Not weights but their number, in files of some versions.
_LEFT_ASIDE = "bert.embeddings.position_ids"

# Second copies that some files hold -> the weight that ours are tied to.
_TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}

READ_ERRORS = (SafetensorError, OSError, ValueError, TypeError)


def load_huggingface(directory, dtype="float32"):
    """Builds the biLM of a Hugging Face directory of a BERT with its masked-LM head.

    Args:
        directory: path, with `config.json` and `model.safetensors`.
        dtype: of the model, as in `LanguageModel`.

    Returns:
        `LanguageModel`.

    Raises:
        InputError: a file is missing or malformed, the config asks for what a biLM does not
            compute, or a tensor is missing, unknown, or of another shape or type.
    """
    config_path, path = Path(directory) / "config.json", Path(directory) / "model.safetensors"
    config = bert_config(config_path, HUGGINGFACE_ACTIVATIONS)
    try:
        with safe_open(path, framework="np") as file:
            values = _read(file, config, path)
    except READ_ERRORS as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).splitlines()[0]
        raise InputError(f"not a readable safetensors file: {reason}", path) from None
    model = LanguageModel(config, dtype=dtype)
    assign_weights(model, fold_segments(values, path), path)
    return model


def huggingface_name(name):
    """What Hugging Face calls the variable that the original code calls `name`."""
    if name == "cls/predictions/output_bias":
        return "cls.predictions.bias"
    parts = name.replace("layer_", "layer/").split("/")
    if parts[-1].endswith("_embeddings"):
        parts.append("weight")
    parts[-1] = {"kernel": "weight", "gamma": "weight", "beta": "bias"}.get(parts[-1], parts[-1])
    return ".".join(parts)


def _read(file, config, path):
    """{our name: array} of an open file, kernels as ours are: [in, out]."""
    # LayerNorm's parameters have the original's names in files converted from it.
    stored = {_new_spelling(name): name for name in sorted(file.keys()) if name != _LEFT_ASIDE}
    names = original_names(config.num_hidden_layers, with_segments=True)
    size = 0
    for name in stored.values():
        header = file.get_slice(name)
        size += math.prod(header.get_shape())
        if header.get_dtype() not in ("F32", "F16", "F64"):
            raise InputError(f"tensor {name} is of type {header.get_dtype()}, not F32 or F16", path)
    if 2 * size < config.num_parameters:  # Before they are allocated.
        raise InputError(
            f"{size:,} values are too small for the {config.num_parameters:,} parameters that "
            "config.json asks for",
            path,
        )
    check_names(
        [name for name in stored if name not in _TIED], map(huggingface_name, names.values()), path
    )
    for copy, original in _TIED.items():
        if copy in stored and not np.array_equal(
            file.get_tensor(stored[copy]), file.get_tensor(stored[original])
        ):
            raise InputError(f"{copy} is not {original}: only a tied output head is read", path)
    values = {}
    for ours, theirs in names.items():
        value = file.get_tensor(stored[huggingface_name(theirs)])
        values[ours] = value.T if ours.endswith("kernel") else value  # torch has [out, in].
    return values


def _new_spelling(name):
    for old, new in ((".gamma", ".weight"), (".beta", ".bias")):
        if name.endswith(old):
            return name.removesuffix(old) + new
    return name
