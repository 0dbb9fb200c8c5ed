"""Runs graphs in onnxruntime."""

from typing import Any

import numpy as np
import onnxruntime

from tta.choices import PROVIDERS
from tta.errors import InputError
from tta.modeling.kits.onnx.graph import Graph

_ONLY_ERRORS = 3


class Session:
    """A graph that is ready to run. It may be called from several threads at once.

    Args:
        graph: its weights are read, and not copied where onnxruntime does not need another layout.
        device: a name of `PROVIDERS`.

    Raises:
        InputError: onnxruntime cannot start on the device.
    """

    def __init__(self, graph: Graph, device: str = "cpu"):
        options: Any = onnxruntime.SessionOptions()
        options.log_severity_level = _ONLY_ERRORS
        values = [
            onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
            for array in graph.weights.values()
        ]
        options.add_external_initializers(list(graph.weights), values)
        self._weights = values  # onnxruntime uses their memory
        self._session = onnxruntime.InferenceSession(
            graph.model().SerializeToString(), options, providers=[PROVIDERS[device]]
        )
        if self._session.get_providers()[0] != PROVIDERS[device]:  # it fell back to the CPU
            raise InputError(f"onnxruntime cannot start on the device {device}")

    def __call__(self, **inputs: np.ndarray) -> Any:
        """The first output for the inputs that the graph names."""
        return self._session.run(None, inputs)[0]

    def outputs(self, **inputs: np.ndarray) -> Any:
        """All outputs, in the order of the graph."""
        return self._session.run(None, inputs)


def check_device(device: str) -> None:
    """Raises InputError unless this build of onnxruntime has a device."""
    found = onnxruntime.get_available_providers()
    if PROVIDERS[device] not in found:
        has = ", ".join(name for name, provider in PROVIDERS.items() if provider in found)
        rule = f"this build of onnxruntime has no device {device}, but {has}"
        raise InputError(f"{rule}; for {device}, install a build that has {PROVIDERS[device]}")
