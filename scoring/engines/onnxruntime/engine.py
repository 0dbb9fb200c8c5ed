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
from tta.scoring.engines.options import DEFAULTS, EngineOptions
from tta.settings import num_cores

INT8_FIXED = "int8-fixed"  # the precision int8 with fixed ranges, in signatures
_REPRESENTATIONS = ("context", "embed", "token", "cls", "eos")


class OnnxEngine(Engine):
    """Runs graphs that are made of a config and the weights.

    Args:
        model: the config and the weights.
        tokenizer: whose ids it takes; None if it has no vocabulary.
        options: as in `tta.load`; `engine` is ignored.
        light: that of the model's directory.
        has_fixed_ranges: whether int8 takes the ranges of `light`; None: on processors where this
            is fast.

    Raises:
        InputError: the model does not have the normalizer or the pseudo-log-likelihood variant,
            onnxruntime does not have the device, or ranges for int8 are of other weights.

    Attributes:
        options: the argument.
    """

    name = "onnxruntime"
    session_type: Callable[..., Session] = Session
    predicts_vectors = False
    # Smaller batches take no more time, and less memory.
    batch_tokens = 512

    def __init__(
        self,
        model: Arrays,
        tokenizer: AnyTokenizer | None = None,
        options: EngineOptions = DEFAULTS,
        *,
        light: LightFile | None = None,
        has_fixed_ranges: bool | None = None,
    ):
        self.device = options.device or "cpu"
        check_device(self.device)
        self.options, self._light = options, light or LightFile()
        self.batches_in_flight = min(options.threads or num_cores(), 8)  # each takes some 30 MB
        self.config, self.tokenizer, self.precision = model.config, tokenizer, options.precision
        self.normalizer = normalizer_of(model.config, options.normalizer)
        self._vocabulary: Any = tokenizer and tokenizer.vocabulary
        self._arrays, self._lock = model.arrays, threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._digest: str | None = None
        if options.precision == "int8":
            if has_fixed_ranges is None:
                has_fixed_ranges = self.device == "cpu" and has_vnni()
            self.ranges = self._light.ranges(self._arrays) if has_fixed_ranges else {}
            self.precision = INT8_FIXED if self.ranges else options.precision
        self._network = self._make_network()
        self.scores_first_token = not MODEL_TYPES.load(self.config.model_type).predicts_next
        # The begin token of a uniLM sees no other token.
        names = [name for name in _REPRESENTATIONS if name != "cls" or self.scores_first_token]
        size: int = self.config.hidden_size
        self.vector_sizes = dict.fromkeys(names, size)

    def _make_network(self) -> Any:
        """What makes the graphs."""
        raise NotImplementedError

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
                self._sessions[make.__name__] = self.session_type(
                    make(),
                    device=self.device,
                    light=self._light,
                    threads=self.options.threads or 0,
                )
            return self._sessions[make.__name__]
