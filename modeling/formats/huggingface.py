"""Reads the Hugging Face directory of a BERT: `config.json`, `model.safetensors`.

A large model has several files of tensors, and `model.safetensors.index.json` names them.
"""

import contextlib
import math
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open

from tta.checked_files import read_json_object, reading
from tta.errors import InputError
from tta.modeling.formats import bert
from tta.modeling.formats.weights import Build, assign_weights, check_size
from tta.names import CONFIG, TOKENIZER_JSON, VOCABULARY

SAFETENSORS = "model.safetensors"
INDEX = f"{SAFETENSORS}.index.json"

_TYPES = ("F32", "F16", "F64", "BF16")

# Files of some versions hold the numbers of the positions, which are not weights.
_IGNORED = "bert.embeddings.position_ids"

# Some files hold a second copy of these weights -> the weight that ours is tied to.
_TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}


def load_huggingface(directory: Path, build: Build, keep_segments: bool) -> Any:
    """Builds a biLM of a BERT with its masked-LM head.

    `build` and `keep_segments` are as in `tta.modeling.formats.model_directory.load_model`. Raises
    InputError if a file is missing or malformed, a biLM cannot compute such a model, or a tensor is
    missing, is unknown, or has the wrong shape or type.
    """
    path = tensors_path(directory)
    config = bert.bert_config(directory / CONFIG, bert.HUGGINGFACE_ACTIVATIONS)
    with contextlib.ExitStack() as stack:
        values = _read(_open_tensors(path, stack), config, path)
    config, values = bert.convert_segments(config, values, keep_segments, path)
    model = build(config)
    assign_weights(model, values, path)
    return model


def tensors_path(directory: Path) -> Path:
    """The file of the tensors, or the index of several files; it may be missing."""
    path = directory / SAFETENSORS
    return path if path.exists() else directory / INDEX


def tokenizer_file(directory: Path) -> Path:
    """`tokenizer.json`, or `vocab.txt` without it."""
    path = directory / TOKENIZER_JSON
    return path if path.exists() else directory / VOCABULARY


def is_padded(directory: Path | str, num_pieces: int, vocab_size: int) -> bool:
    """Whether the tables of a Hugging Face model have rows for no piece, after those for pieces.

    Such tables have a multiple of 8 rows, for speed: 30,528 for 30,522 pieces.
    """
    is_whole = vocab_size % 8 == 0 and 0 < vocab_size - num_pieces < 1024
    return is_whole and tensors_path(Path(directory)).exists()


class _Tensor(NamedTuple):
    """A tensor in an open file: its name there, the file, and the file's path."""

    name: str
    file: Any
    path: Path

    def read(self) -> np.ndarray:
        with reading("not a readable safetensors file", self.path, SafetensorError):
            value = self.file.get_tensor(self.name)
        return value if value.dtype.kind == "f" else value.astype(np.float32)  # bfloat16


def _open_tensors(path, stack) -> dict[str, _Tensor]:
    """{name: tensor} of all files; LayerNorm's parameters have the names of today."""
    import ml_dtypes  # noqa: F401 (makes bfloat16 a type of NumPy)

    directory, names = path.parent, [path.name]
    if path.name == INDEX:
        places = read_json_object(path).get("weight_map")
        names: Any = places.values() if isinstance(places, dict) else [None]
        if not all(isinstance(name, str) and Path(name).name == name for name in names):
            raise InputError("expected weight_map: {name of a tensor: name of a file}", path)
        if missing := [name for name in names if not os.path.isfile(directory / name)]:
            raise InputError(f"it names a file that is missing: {missing[0]!r}", path)
    tensors = {}
    for path in sorted({directory / name for name in names}):
        with reading("not a readable safetensors file", path, SafetensorError):
            file = stack.enter_context(safe_open(path, framework="np"))
            for name in sorted(file.keys()):
                # Files converted from the original checkpoints keep its names.
                today = re.sub(r"\.gamma$", ".weight", re.sub(r"\.beta$", ".bias", name))
                if today in tensors:
                    raise InputError(f"tensor {name} is there twice", path)
                tensors[today] = _Tensor(name, file, path)
    tensors.pop(_IGNORED, None)
    for copy, original in _TIED.items():  # some files have the copy alone
        if copy in tensors and original not in tensors:
            tensors[original] = tensors.pop(copy)
    return tensors


def huggingface_name(name: str) -> str:
    """Hugging Face's name of the variable that the original code calls `name`."""
    if name == "cls/predictions/output_bias":
        return "cls.predictions.bias"
    parts = name.replace("layer_", "layer/").split("/")
    if parts[-1].endswith("_embeddings"):
        parts.append("weight")
    parts[-1] = {"kernel": "weight", "gamma": "weight", "beta": "bias"}.get(parts[-1], parts[-1])
    return ".".join(parts)


def _read(stored: dict[str, _Tensor], config: Any, path: Path) -> dict[str, np.ndarray]:
    """{our name: array} of the tensors; kernels are [in, out], as in our layers."""
    names = bert.original_names(config.num_hidden_layers, with_segments=True)
    names_there = {ours: huggingface_name(theirs) for ours, theirs in names.items()}
    sizes = {}
    for name, tensor in stored.items():
        with reading("not a readable safetensors file", tensor.path, SafetensorError):
            header = tensor.file.get_slice(tensor.name)
            sizes[name], kind = math.prod(header.get_shape()), header.get_dtype()
        if name in names_there.values() and kind not in _TYPES:
            rule = f"tensor {tensor.name} has type {kind}, not F32, F16 or BF16"
            raise InputError(rule, tensor.path)
    check_size(sum(sizes.values()), config, CONFIG, path)
    bert.check_names([name for name in stored if name not in _TIED], names_there.values(), path)
    for copy, original in _TIED.items():
        if copy in stored and not np.array_equal(stored[copy].read(), stored[original].read()):
            raise InputError(f"{copy} differs from {original}: the output head must be tied", path)
    values = {ours: stored[theirs].read() for ours, theirs in names_there.items()}
    # torch stores [out, in]
    return {name: v.T if name.endswith("kernel") else v for name, v in values.items()}
