"""Runs graphs in onnxruntime."""

import contextlib
import importlib
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxruntime
from onnxruntime import OrtValue

from tta.choices import PROVIDERS
from tta.errors import InputError
from tta.modeling.formats.onnx.light import LightFile
from tta.modeling.kits.onnx.graph import Graph

_ONLY_ERRORS = 3

# Larger batches come with others: they are not more than the tokens of a text or two.
SMALL = 256

_STATES = importlib.import_module("onnxruntime.capi.onnxruntime_pybind11_state")
_ERRORS = tuple(
    kind
    for kind in vars(_STATES).values()
    if isinstance(kind, type) and issubclass(kind, Exception)
)

_LARGE_WEIGHT = 1_000_000  # bytes


class Session:
    """A graph that is ready to run. It may be called from several threads at once.

    Batches that are computed at the same time take one core each, so that no core waits for
    another. A small batch alone takes all cores. The number of cores does not change a bit of the
    results.

    Args:
        graph: on a CPU, tables of tokens are read where they are. Kernels are copied, in the layout
            that is fastest, and twice when batches of both kinds have come.
        device: a name of `PROVIDERS`. Other devices than the CPU have one session.
        light: the file that stores graphs, of the model's directory; None makes the graph.
        threads: how many cores are all of them; 0 is those of the machine.

    Raises:
        InputError: onnxruntime cannot start on the device, or the stored graph is not this one;
            in calls also if it fails.
    """

    def __init__(
        self,
        graph: Graph,
        device: str = "cpu",
        light: LightFile | None = None,
        threads: int = 0,
    ):
        self._device, self._all = device, threads
        self._sessions: dict[int, Any] = {}  # by the number of threads; 0 is one for each core
        values = {
            name: OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))
            for name, array in graph.weights_of().items()
        }
        kernels = graph.weights_of("Gemm", "MatMulInteger", "MatMulIntegerToFloat")
        tables = [name for name in values if graph.weights[name].nbytes > _LARGE_WEIGHT]
        # Another device would copy them at each call.
        tables = tables if device == "cpu" else []
        self._fed = {name: values.pop(name) for name in tables if name not in kernels}
        self._kept, self._num_running, self._lock = values, 0, threading.Lock()
        key = graph.key(self._fed)
        self._light = light or LightFile()
        self._graph = self._light.graph(key, lambda: graph.model(self._fed).SerializeToString())
        self._input_names = {*graph.input_names, *self._fed}
        self._output_names = graph.output_names
        self._has_fixed_ranges = bool(graph.weights_of("MatMulIntegerToFloat"))
        if device != "cpu":
            self._session(threads)

    def __call__(self, **inputs: np.ndarray) -> Any:
        """The first output for the inputs that the graph names."""
        return self.outputs(**inputs)[0]

    def outputs(self, **inputs: np.ndarray) -> Any:
        """All outputs, in the order of the graph."""
        with self._lock:
            is_small = "input_ids" not in inputs or inputs["input_ids"].size <= SMALL
            takes_all = self._device != "cpu" or (is_small and self._num_running == 0)
            session = self._session(self._all if takes_all else 1)
            self._num_running += 1  # after the session's start, which may fail
        try:
            values = {name: OrtValue.ortvalue_from_numpy(x) for name, x in inputs.items()}
            with self._failing("run"):
                outputs = session.run_with_ort_values(None, {**self._fed, **values})
            return [value.numpy() for value in outputs]
        finally:
            with self._lock:
                self._num_running -= 1

    def _session(self, num_threads):
        if num_threads not in self._sessions:
            self._sessions[num_threads] = self._start(num_threads)
        return self._sessions[num_threads]

    def _start(self, num_threads):
        options: Any = onnxruntime.SessionOptions()
        options.log_severity_level = _ONLY_ERRORS
        options.intra_op_num_threads = num_threads
        # Threads that wait in a loop would take the time of what else runs.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if self._has_fixed_ranges:  # sums of 32 bits, also on processors without VNNI
            options.add_session_config_entry("session.x64quantprecision", "1")
        options.add_external_initializers(list(self._kept), list(self._kept.values()))
        for name, value in self._kept.items():  # without a copy of it
            options.add_initializer(name, value)
        provider = PROVIDERS[self._device]
        with self._failing("start"):
            session = onnxruntime.InferenceSession(self._graph, options, providers=[provider])
        inputs = {value.name for value in session.get_inputs()}
        outputs = [value.name for value in session.get_outputs()]
        if not inputs <= self._input_names or outputs != self._output_names:
            raise self._light.damaged("one of its graphs is that of another model")
        if session.get_providers()[0] != provider:  # it fell back to the CPU
            raise InputError(f"onnxruntime cannot start on the device {self._device}")
        return session

    @contextlib.contextmanager
    def _failing(self, action: str) -> Iterator[None]:
        """Turns an error of onnxruntime into one line."""
        try:
            yield
        except _ERRORS as error:
            reason = str(error).partition("\n")[0]
            raise self._light.damaged(f"onnxruntime cannot {action} its graph: {reason}") from None


def check_device(device: str) -> None:
    """Raises InputError unless this build of onnxruntime has a device."""
    available = onnxruntime.get_available_providers()
    if PROVIDERS[device] not in available:
        has = ", ".join(name for name, provider in PROVIDERS.items() if provider in available)
        rule = f"this build of onnxruntime has no device {device}, but {has}"
        raise InputError(f"{rule}; for {device}, install a build that has {PROVIDERS[device]}")
