"""What the engines that run models in onnxruntime share. They need neither TensorFlow nor Keras."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from tta.data.vocabulary.load import AnyTokenizer
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.onnx.light import LightFile
from tta.modeling.kits.onnx.graph import Graph
from tta.modeling.kits.onnx.ranges import has_vnni
from tta.modeling.kits.onnx.weights import Arrays
from tta.scoring.engines.base import BatchFunction, Engine, normalizer_of
from tta.scoring.engines.onnxruntime.session import Session, check_device
from tta.settings import num_cores

INT8_FIXED = "int8-fixed"  # the precision int8 with fixed ranges, in signatures
_REPRESENTATIONS = ("context", "embed", "token", "cls", "eos")


class OnnxEngine(Engine):
    """Runs graphs that are made of a config and the weights.

    Args:
        model: the config and the weights.
        tokenizer: whose ids it takes; None if it has no vocabulary.
        precision, pll_variant, normalizer, device: as in `tta.load`.
        light: that of the model's directory.
        has_fixed_ranges: whether int8 takes the ranges of `light`; None: on processors where this
            is fast.

    Raises:
        InputError: the model does not have the normalizer or the pseudo-log-likelihood variant,
            onnxruntime does not have the device, or ranges for int8 are of other weights.
    """

    name = "onnxruntime"
    session_type: Callable[..., Session] = Session
    predicts_vectors = False
    batches_in_flight = min(num_cores(), 8)  # each takes some 30 MB
    # Smaller batches take no more time, and less memory.
    batch_tokens = 512

    def __init__(
        self,
        model: Arrays,
        tokenizer: AnyTokenizer | None = None,
        precision: str = "float32",
        pll_variant: str = "original",
        normalizer: str = "exact",
        device: str = "cpu",
        light: LightFile | None = None,
        has_fixed_ranges: bool | None = None,
    ):
        check_device(device)
        self.device, self._light, self._threads = device, light or LightFile(), 0
        self.config, self.tokenizer, self.precision = model.config, tokenizer, precision
        self.normalizer = normalizer_of(model.config, normalizer)
        self._vocabulary: Any = tokenizer and tokenizer.vocabulary
        self._arrays, self._lock = model.arrays, threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._digest: str | None = None
        if precision == "int8":
            if has_fixed_ranges is None:
                has_fixed_ranges = device == "cpu" and has_vnni()
            self.ranges = self._light.ranges(self._arrays) if has_fixed_ranges else {}
            self.precision = INT8_FIXED if self.ranges else precision
        self._network = self._make_network(pll_variant)
        self.scores_first_token = not MODEL_TYPES.load(self.config.model_type).predicts_next
        # The begin token of a uniLM sees no other token.
        names = [name for name in _REPRESENTATIONS if name != "cls" or self.scores_first_token]
        size: int = self.config.hidden_size
        self.vector_sizes = dict.fromkeys(names, size)

    def _make_network(self, pll_variant: str) -> Any:
        """What makes the graphs."""
        raise NotImplementedError

    def use_threads(self, number: int | None) -> None:
        """Takes this many cores in sessions that start from now on; None is all."""
        self._threads = number or 0
        self.batches_in_flight = min(number or num_cores(), 8)

    def weights(self):
        return self._arrays

    def weights_digest(self):
        """As `Engine.weights_digest`; the graphs hold the weights, so they do not change."""
        if self._digest is None:
            self._digest = super().weights_digest()
        return self._digest

    def token_vectors(self, representation):
        if representation not in self.vector_sizes:
            kind = self.config.model_type
            raise InputError(f"a model of type {kind} has no representation {representation}")
        if representation == "token":
            rows: np.ndarray = self._arrays[self.config.token_table]
            return lambda ids, mask, wanted: rows[ids]
        if representation == "embed":
            return self._of_tokens(self._network.embeddings)
        return self._states(representation)

    def usual(self) -> list[BatchFunction]:
        """What it is mostly used for, as functions of a batch; the first one reads all weights."""
        scores = [self.token_scores()] if self.gives_scores else []
        return [*scores, self.token_vectors("context")]

    def _states(self, representation: str) -> BatchFunction:
        """As `token_vectors`, for one that is made of the last layer's output."""
        return self._of_tokens(self._network.states)

    def _of_tokens(self, graph: Callable[[], Graph]) -> BatchFunction:
        """What a graph of "input_ids" and "padding_mask" computes."""
        session = self._session(graph)
        return lambda ids, mask, wanted: session(input_ids=ids, padding_mask=mask)

    def _session(self, make: Callable[[], Graph]) -> Session:
        """The session of the graph that a method of the network makes, when it is first used."""
        with self._lock:
            if make.__name__ not in self._sessions:
                given = make(), self.device, self._light, self._threads
                self._sessions[make.__name__] = self.session_type(*given)
            return self._sessions[make.__name__]
