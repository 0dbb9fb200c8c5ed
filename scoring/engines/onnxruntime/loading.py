"""Loads a model for onnxruntime."""

from pathlib import Path
from typing import Any

from tta.errors import InputError, install
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.onnx.light import LightFile
from tta.modeling.formats.parts import load_part
from tta.modeling.kits.onnx.weights import Arrays
from tta.scoring.engines.base import lacks
from tta.scoring.engines.directory import tokenizer_in
from tta.scoring.engines.onnxruntime.engine import OnnxEngine
from tta.scoring.engines.onnxruntime.language_model import LanguageModelEngine
from tta.scoring.engines.options import DEFAULTS, EngineOptions


def load_onnx(
    directory: Path | str, options: EngineOptions = DEFAULTS, *, part: str | None = None
) -> OnnxEngine:
    """The engine of the model in a directory, or of a part of it; arguments as in `load_engine`.

    Raises InputError if a file is missing or damaged, files do not fit each other, an option does
    not suit the model, the model has no such part, or the engine does not compute it.
    """
    if options.precision == "bfloat16":
        raise InputError("precision bfloat16 needs engine tensorflow; onnxruntime has int8")
    model = load_part(directory, part, build=build)
    tokenizer = tokenizer_in(directory, model.config)
    return engine_class(model.config)(model, tokenizer, options, light=LightFile(directory))


def engine_class(config: Any) -> Any:
    """The `OnnxEngine` of models with a `ModelConfig`."""
    return MODEL_TYPES.load(config.model_type).engine("onnxruntime") or LanguageModelEngine


def build(config: Any) -> Arrays:
    """The model of a `ModelConfig`, without weights; InputError if onnxruntime does not run it."""
    if what := lacks(config):
        raise InputError(
            f"engine onnxruntime does not run {what}: use engine tensorflow ({install()})"
        )
    return Arrays(config)
