"""Runs graphs in onnxruntime."""

import threading
from typing import Any

import numpy as np
import onnxruntime

from tta.choices import PROVIDERS
from tta.errors import InputError
from tta.modeling.kits.onnx.graph import Graph

_ONLY_ERRORS = 3

# Tokens of a batch that one core computes in about the time that a text may take.
_SMALL = 256


class Session:
    """A graph that is ready to run. It may be called from several threads at once.

    Batches that are computed at the same time take one core each, so that no core waits for
    another. A small batch alone takes all cores.

    Args:
        graph: its weights are read, and not copied until small batches come one after the other.
        device: a name of `PROVIDERS`.

    Raises:
        InputError: onnxruntime cannot start on the device.
    """

    def __init__(self, graph: Graph, device: str = "cpu"):
        self._values = {  # onnxruntime uses their memory
            name: onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
            for name, array in graph.weights.items()
        }
        self._model, self._device = graph.model().SerializeToString(), device
        self._on_one_core = self._start(on_one_core=True)
        self._on_all_cores: Any = None
        self._num_small, self._num_running, self._lock = 0, 0, threading.Lock()

    def __call__(self, **inputs: np.ndarray) -> Any:
        """The first output for the inputs that the graph names."""
        return self.outputs(**inputs)[0]

    def outputs(self, **inputs: np.ndarray) -> Any:
        """All outputs, in the order of the graph."""
        with self._lock:
            self._num_running += 1
            session = self._choose(inputs)
        try:
            return session.run(None, inputs)
        finally:
            with self._lock:
                self._num_running -= 1

    def _choose(self, inputs):
        is_small = inputs[next(iter(inputs))].size <= _SMALL
        self._num_small += is_small
        # The first one is not worth the start of another session, and its memory.
        if not is_small or self._num_running > 1 or self._num_small == 1:
            return self._on_one_core
        if self._on_all_cores is None:
            self._on_all_cores = self._start(on_one_core=False)
        return self._on_all_cores

    def _start(self, on_one_core):
        options: Any = onnxruntime.SessionOptions()
        options.log_severity_level = _ONLY_ERRORS
        if on_one_core:
            options.intra_op_num_threads = 1
            # Large batches gain nothing from weights in another layout, which are copies.
            options.add_session_config_entry("session.disable_prepacking", "1")
        options.add_external_initializers(list(self._values), list(self._values.values()))
        provider = PROVIDERS[self._device]
        session = onnxruntime.InferenceSession(self._model, options, providers=[provider])
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
