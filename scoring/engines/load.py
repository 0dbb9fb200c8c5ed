"""Chooses and imports the engine that runs a model.

TensorFlow runs all models. onnxruntime starts in a tenth of the time and takes less memory.
"""

import glob
import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tta.choices import EngineName
from tta.errors import InputError, install
from tta.modeling.config.base import read_config
from tta.modeling.formats.hub import PREFIX
from tta.modeling.formats.model_directory import FORMATS, format_of
from tta.modeling.formats.trained_models import find_directory
from tta.names import CONFIG
from tta.scoring.engines.base import Engine, lacks

# Below this number of bytes of input, some 35,000 sentences, onnxruntime is done before TensorFlow,
# which starts 6 s later, but finds a GPU by itself. On a CPU, onnxruntime takes no longer for more
# (`python -m benchmarks.light`).
SMALL_WORK = 4_000_000

# An engine -> the packages that it needs.
_PACKAGES = {"tensorflow": ("tensorflow", "keras"), "onnxruntime": ("onnxruntime", "onnx")}


def load_engine(
    directory: Path | str,
    engine: str,
    precision: str,
    pll_variant: str,
    normalizer: str,
    part: str | None = None,
    device: str | None = None,
    threads: int | None = None,
) -> Engine:
    """The engine with the model of a directory; arguments as in `tta.load`.

    `part` is the half of an autoencoder to take, "encoder" or "decoder"; None is the whole model.

    Raises:
        InputError: the model cannot be loaded, an option does not suit it or the engine, the model
            has no such part, or the engine is not installed.
    """
    if engine == "auto":
        engine = _default(precision) if device is None else "onnxruntime"
    if engine == "tensorflow":
        if device is not None:
            raise InputError("device needs engine onnxruntime; TensorFlow takes a GPU by itself")
        load = tensorflow_engine().from_directory
        return load(directory, precision, pll_variant, normalizer, part)
    _check_installed("onnxruntime")
    from tta.scoring.engines.onnxruntime.loading import load_onnx

    return load_onnx(directory, precision, pll_variant, normalizer, part, device or "cpu", threads)


def tensorflow_engine() -> Any:
    """The class `TensorFlowEngine`.

    Raises:
        InputError: TensorFlow or Keras is not installed.
    """
    _check_installed("tensorflow")
    from tta.scoring.engines.tensorflow.engine import TensorFlowEngine

    return TensorFlowEngine


def engine_for_work(
    engine: EngineName, precision: str, models: Iterable[str | None], files: Iterable[str]
) -> EngineName:
    """The engine that a command takes, so that it is done as early as possible.

    "auto" becomes "onnxruntime" if this runs all of the models, and the files are small or
    TensorFlow is not installed; else "tensorflow". It stays "auto" if no engine runs the models.

    Args:
        engine, precision: as in `tta.load`.
        models: the arguments of `tta.load`.
        files: paths and globs of the input. The size of standard input, "-", counts as 0.
    """
    directories = [model for model in models if _is_directory(model)]
    if engine != "auto" or not directories:
        return engine
    if not all(map(_runs, directories)):
        return engine if _missing("tensorflow") else "tensorflow"
    if precision != "float32" or _missing("onnxruntime"):
        return _default(precision)
    paths = (path for pattern in files for path in glob.glob(pattern))
    found = (p for path in paths for p in ([path, *glob.glob(os.path.join(path, "*"))]))
    is_small = sum(map(os.path.getsize, found)) < SMALL_WORK
    return "onnxruntime" if is_small else _default(precision)


def _default(precision: str) -> EngineName:
    """The engine of `tta.load` if nothing is said: TensorFlow where it is installed."""
    only: dict[str, EngineName] = {"int8": "onnxruntime", "bfloat16": "tensorflow"}
    if precision in only:
        return only[precision]
    return "onnxruntime" if _missing("tensorflow") else "tensorflow"


def _is_directory(model):
    return model is None or os.path.isdir(model) or ":" not in model.removeprefix(PREFIX)


def _runs(model):
    """Whether onnxruntime runs a model. If the model is damaged, loading it says so."""
    try:
        directory = Path(find_directory(model))
        found = format_of(directory)
        known = found and FORMATS[found].on_onnxruntime
        return lacks(read_config(directory / CONFIG)) is None if known is None else known
    except InputError:
        return False


def _missing(engine: str) -> list[str]:
    """The packages of an engine that are not installed."""
    return [name for name in _PACKAGES[engine] if importlib.util.find_spec(name) is None]


def _check_installed(engine: str) -> None:
    if missing := _missing(engine):
        rule = f"engine {engine} needs {missing[0]}, which is not installed: {install()}"
        raise InputError(rule)
