"""Imports the engine that runs a model."""

import importlib
from typing import Any

from tta.errors import InputError


def tensorflow_engine() -> Any:
    """The class `TensorFlowEngine`.

    Raises:
        InputError: TensorFlow or Keras is not installed.
    """
    try:
        return importlib.import_module("tta.scoring.engines.tensorflow.engine").TensorFlowEngine
    except ModuleNotFoundError as error:
        if error.name not in ("tensorflow", "keras"):
            raise
        rule = f"a neural model needs {error.name}, which is not installed: pip install tensorflow"
        raise InputError(rule) from None
