"""Runs graphs in onnxruntime."""

import threading
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime import OrtValue

from tta.choices import PROVIDERS
from tta.errors import InputError
from tta.modeling.kits.onnx.graph import Graph

_ONLY_ERRORS = 3

# Larger batches come with others: they are not more than the tokens of a text or two.
SMALL = 256


class Session:
    """A graph that is ready to run. It may be called from several threads at once.

    Batches that are computed at the same time take one core each, so that no core waits for
    another. A small batch alone takes all cores, but for the first one, which is not worth the
    start of a second session.

    Args:
        graph: its weights are read where they are. The session of small batches has a copy, in the
            layout that is fastest for them.
        device: a name of `PROVIDERS`. Other devices than the CPU have one session.

    Raises:
        InputError: onnxruntime cannot start on the device.
    """

    def __init__(self, graph: Graph, device: str = "cpu"):
        self._graph, self._device = graph, device
        self._weights = {
            name: OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
            for name, array in graph.weights.items()
        }
        self._num_small, self._num_running, self._lock = 0, 0, threading.Lock()
        self._on_one_core = self._on_all_cores = None
        if device == "cpu":
            self._on_one_core = self._start(on_all_cores=False)
        else:
            self._on_all_cores = self._start(on_all_cores=True)

    def __call__(self, **inputs: np.ndarray) -> Any:
        """The first output for the inputs that the graph names."""
        return self.outputs(**inputs)[0]

    def outputs(self, **inputs: np.ndarray) -> Any:
        """All outputs, in the order of the graph."""
        with self._lock:
            self._num_running += 1
            takes_all_cores = self._takes_all_cores(inputs)
        try:
            if takes_all_cores:
                return self._on_all_cores.run(None, inputs)
            values = {name: OrtValue.ortvalue_from_numpy(x) for name, x in inputs.items()}
            found = self._on_one_core.run_with_ort_values(None, {**self._weights, **values})
            return [value.numpy() for value in found]
        finally:
            with self._lock:
                self._num_running -= 1

    def _takes_all_cores(self, inputs):
        if self._on_one_core is None:
            return True
        is_small = "input_ids" not in inputs or inputs["input_ids"].size <= SMALL
        self._num_small += is_small
        if not is_small or self._num_running > 1 or self._num_small == 1:
            return False
        if self._on_all_cores is None:
            self._on_all_cores = self._start(on_all_cores=True)
        return True

    def _start(self, on_all_cores):
        options: Any = onnxruntime.SessionOptions()
        options.log_severity_level = _ONLY_ERRORS
        if on_all_cores:
            weights = self._weights
            options.add_external_initializers(list(weights), list(weights.values()))
        else:
            options.intra_op_num_threads = 1
        model = self._graph.model(weights_are_inputs=not on_all_cores).SerializeToString()
        provider = PROVIDERS[self._device]
        session = onnxruntime.InferenceSession(model, options, providers=[provider])
        if session.get_providers()[0] != provider:  # it fell back to the CPU
            raise InputError(f"onnxruntime cannot start on the device {self._device}")
        return session


def check_device(device: str) -> None:
    """Raises InputError unless this build of onnxruntime has a device."""
    found = onnxruntime.get_available_providers()
    if PROVIDERS[device] not in found:
        has = ", ".join(name for name, provider in PROVIDERS.items() if provider in found)
        rule = f"this build of onnxruntime has no device {device}, but {has}"
        raise InputError(f"{rule}; for {device}, install a build that has {PROVIDERS[device]}")
