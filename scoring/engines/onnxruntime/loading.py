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


def load_onnx(
    directory: Path | str,
    precision: str,
    pll_variant: str,
    normalizer: str,
    part: str | None = None,
    device: str = "cpu",
    threads: int | None = None,
) -> OnnxEngine:
    """The engine of the model in a directory, or of a part of it; arguments as in `load_engine`.

    Raises InputError if a file is missing or damaged, files do not fit each other, an option does
    not suit the model, the model has no such part, or the engine does not compute it.
    """
    if precision == "bfloat16":
        raise InputError("precision bfloat16 needs engine tensorflow; onnxruntime has int8")
    model = load_part(directory, part, build=build)
    tokenizer = tokenizer_in(directory, model.config)
    given = precision, pll_variant, normalizer, device, LightFile(directory)
    made = engine_class(model.config)(model, tokenizer, *given)
    made.use_threads(threads)
    return made


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
