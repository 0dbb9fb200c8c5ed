"""Reads the Hugging Face directory of a BERT: `config.json`, `model.safetensors`."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from tta.errors import InputError
from tta.modeling.formats.bert import (
    HUGGINGFACE_ACTIVATIONS,
    bert_config,
    check_names,
    convert_segments,
    original_names,
)
from tta.modeling.formats.weights import assign_weights, check_size, reading
from tta.modeling.models.language_model import build_model
from tta.names import CONFIG

SAFETENSORS = "model.safetensors"

# Files of some versions hold the numbers of the positions, which are not weights.
_IGNORED = "bert.embeddings.position_ids"

# Some files hold a second copy of these weights -> the weight that ours is tied to.
_TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


def load_huggingface(
    directory: Path | str, dtype: str = "float32", keep_segments: bool = False
) -> Any:
    """Builds the biLM of a BERT with its masked-LM head: a Keras model, see `LanguageModel`.

    The directory contains `config.json` and `model.safetensors`. `keep_segments` is as in
    `tta.modeling.formats.model_directory.load_model`.

    Raises:
        InputError: a file is missing or malformed, a biLM cannot compute such a model, or a tensor
            is missing, is unknown, or has the wrong shape or type.
    """
    path = Path(directory) / SAFETENSORS
    config = bert_config(Path(directory) / CONFIG, HUGGINGFACE_ACTIVATIONS)
    with (
        reading("not a readable safetensors file", path, SafetensorError),
        safe_open(path, framework="np") as file,
    ):
        values = _read(file, config, path)
    config, values = convert_segments(config, values, keep_segments, path)
    model = build_model(config, dtype)
    assign_weights(model, values, path)
    return model


def huggingface_name(name: str) -> str:
    """Hugging Face's name of the variable that the original code calls `name`."""
    if name == "cls/predictions/output_bias":
        return "cls.predictions.bias"
    parts = name.replace("layer_", "layer/").split("/")
    if parts[-1].endswith("_embeddings"):
        parts.append("weight")
    parts[-1] = {"kernel": "weight", "gamma": "weight", "beta": "bias"}.get(parts[-1], parts[-1])
    return ".".join(parts)


def _read(file: Any, config: Any, path: Path) -> dict[str, np.ndarray]:
    """{our name: array} of an open file; kernels are [in, out], as in our layers."""
    # Files converted from the original checkpoints keep its names of LayerNorm's parameters.
    stored = {
        re.sub(r"\.gamma$", ".weight", re.sub(r"\.beta$", ".bias", name)): name
        for name in sorted(file.keys())
        if name != _IGNORED
    }
    names = original_names(config.num_hidden_layers, with_segments=True)
    size = 0
    for name in stored.values():
        header = file.get_slice(name)
        size += math.prod(header.get_shape())
        if header.get_dtype() not in ("F32", "F16", "F64"):
            raise InputError(f"tensor {name} has type {header.get_dtype()}, not F32 or F16", path)
    check_size(size, config, CONFIG, path)
    check_names(
        [name for name in stored if name not in _TIED], map(huggingface_name, names.values()), path
    )
    for copy, original in _TIED.items():
        if copy in stored and not np.array_equal(
            file.get_tensor(stored[copy]), file.get_tensor(stored[original])
        ):
            raise InputError(f"{copy} differs from {original}: the output head must be tied", path)
    values = {}
    for ours, theirs in names.items():
        value = file.get_tensor(stored[huggingface_name(theirs)])
        values[ours] = value.T if ours.endswith("kernel") else value  # torch stores [out, in]
    return values
