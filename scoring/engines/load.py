"""Chooses and imports the engine that runs a model.

TensorFlow runs all models. onnxruntime starts in a tenth of the time, takes less memory, and is no
slower (`python -m benchmarks.light`).
"""

import functools
import glob
import importlib.util
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from tta.choices import MIXED, EngineName
from tta.errors import InputError, install
from tta.modeling.config.base import read_config
from tta.modeling.formats.model_directory import FORMATS, format_of
from tta.names import CONFIG
from tta.scoring.engines.base import Engine, lacks
from tta.scoring.engines.options import DEFAULTS, FOR_LISTS, EngineOptions

# An engine -> the packages that it needs.
_PACKAGES = {"tensorflow": ("tensorflow", "keras"), "onnxruntime": ("onnxruntime", "onnx")}


def load_engine(
    directory: Path | str, options: EngineOptions = DEFAULTS, *, part: str | None = None
) -> Engine:
    """The engine with the model of a directory.

    Args:
        directory: of the model.
        options: as in `tta.load`.
        part: the half of an autoencoder to take, "encoder" or "decoder"; None is the whole model.

    Raises:
        InputError: the model cannot be loaded, an option does not suit it or the engine, the model
            has no such part, or the engine is not installed.
    """
    if options.precision == MIXED:
        raise InputError(FOR_LISTS)
    name = options.engine
    if name == "auto":
        name = "onnxruntime" if options.device else _chosen(Path(directory), options.precision)
    if name == "tensorflow":
        if options.device is not None:
            raise InputError("device needs engine onnxruntime; TensorFlow takes a GPU by itself")
        return tensorflow_engine().from_directory(directory, options, part=part)
    check_installed("onnxruntime")
    from tta.scoring.engines.onnxruntime.loading import load_onnx

    engine = load_onnx(directory, options, part=part)
    of_tensorflow = replace(options, engine="tensorflow", device=None)
    engine.in_tensorflow = functools.partial(load_engine, directory, of_tensorflow, part=part)
    return engine


def tensorflow_engine() -> Any:
    """The class `TensorFlowEngine`. Raises InputError if TensorFlow or Keras is not installed."""
    check_installed("tensorflow")
    from tta.scoring.engines.tensorflow.engine import TensorFlowEngine

    return TensorFlowEngine


def _chosen(directory: Path, precision: str) -> EngineName:
    """The engine of a model if nothing is said: onnxruntime if it runs the model.

    TensorFlow takes a GPU by itself, so it is taken where there is one.
    """
    only: dict[str, EngineName] = {"int8": "onnxruntime", "bfloat16": "tensorflow"}
    if precision in only:
        return only[precision]
    if _missing("tensorflow"):
        return "onnxruntime"
    needs_tensorflow = _missing("onnxruntime") or _has_gpu() or not _runs(directory)
    return "tensorflow" if needs_tensorflow else "onnxruntime"


def _has_gpu() -> bool:
    """Whether there is a GPU of NVIDIA that this process may use."""
    is_hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    return bool(glob.glob("/dev/nvidia[0-9]*")) and not is_hidden


def _runs(directory):
    """Whether onnxruntime runs a model. If the model is damaged, loading it says so."""
    try:
        name = format_of(directory)
        is_run = name and FORMATS[name].on_onnxruntime
        return lacks(read_config(directory / CONFIG)) is None if is_run is None else is_run
    except InputError:
        return False


def _missing(engine: str) -> list[str]:
    """The packages of an engine that are not installed."""
    return [name for name in _PACKAGES[engine] if importlib.util.find_spec(name) is None]


def check_installed(engine: str) -> None:
    """Raises InputError unless the packages of an engine are installed."""
    if missing := _missing(engine):
        rule = f"engine {engine} needs {missing[0]}, which is not installed: {install()}"
        raise InputError(rule)
