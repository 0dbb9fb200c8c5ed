"""Functions of a model, compiled with its weights as constants: faster than with variables."""

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tta.scoring.engines.base import BatchFunction

_LARGE = 1 << 26  # numbers in a weight


def frozen(
    function: Callable[..., Any], signature: Sequence[Any], model: Any
) -> Callable[..., np.ndarray]:
    """Compiles a TensorFlow function with a model's weights as constants.

    TensorFlow then casts and lays out the weights once instead of in every call. This saves a sixth
    of the time of a list with products in bfloat16, and most of the time of a single sentence
    (docs/experiments/performance.md). The token table is a constant only in matrix products:
    lookups of its rows would gain nothing, and a large constant takes long to compile. A graph
    holds at most 2 GB, so very large weights are no constants.

    Args:
        function: called with tensors and `output_table`, a constant copy [V, D] of the token table
            (None if the model has no such table). It calls the model and returns a tensor.
        signature: a `tf.TensorSpec` for each tensor.
        model: a Keras model. Its weights are read now; later changes have no effect.

    Returns:
        A function of arrays or tensors that returns an array.
    """
    table = getattr(model, "token_table", None)
    is_read = [v.name == "token_table" or math.prod(v.shape) > _LARGE for v in model.weights]
    weights = list(zip(model.weights, is_read, strict=True))
    values: list[tuple[Any, Any]] = [(v, v.numpy()) for v, read in weights if not read]
    rows = [(v, tf.identity(v.value)) for v, read in weights if read]
    columns = None if table is None else tf.cast(table.value, model.compute_dtype).numpy()

    def with_constants(*arguments):
        constants = [(variable, tf.constant(value)) for variable, value in values]
        with keras.StatelessScope(state_mapping=rows + constants):
            return function(*arguments, output_table=columns)

    graph = tf.function(with_constants, input_signature=signature, autograph=False)
    return _of_arrays(graph, signature)


class FrozenFunctions:
    """Functions of batches, compiled when they are first used.

    Args:
        model: a Keras model.
    """

    def __init__(self, model: Any):
        self._model = model
        self._compiled: dict[Any, Callable] = {}
        self._compile = frozen
        self._lock = threading.Lock()

    def thaw(self) -> None:
        """Reads the weights at each call from now on. Without this, they must not change."""
        with self._lock:
            if self._compile is frozen:
                self._compile = _with_variables
                self._compiled.clear()

    def get(
        self, function: Callable[..., Any], *options: Any, of_latents: bool = False
    ) -> BatchFunction:
        """A compiled function.

        Args:
            function: called with {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}, the
                third argument, `output_table` as in `frozen`, and the options.
            *options: hashable.
            of_latents: whether the third argument is [B, K P] float32, not `wanted`, [B, T] bool.
        """

        def of_batch(ids, mask, third, output_table=None):
            batch = {"input_ids": ids, "padding_mask": mask}
            return function(batch, third, output_table, *options)

        with self._lock:
            key = function, options, self._layers()
            if key not in self._compiled:
                kinds = tf.int32, tf.bool, tf.float32 if of_latents else tf.bool
                signature = [tf.TensorSpec([None, None], kind) for kind in kinds]
                self._compiled[key] = self._compile(of_batch, signature, self._model)
            return self._compiled[key]

    def _layers(self):
        """What the layers of a model that a caller has compute now: other layers, another graph."""
        if self._compile is frozen:
            return None
        layers = self._model._flatten_layers()
        return tuple((x.call, x.dtype_policy.name, getattr(x, "lora_enabled", 0)) for x in layers)


def _with_variables(function, signature, model):
    """As `frozen`, with the weights as they are at each call."""
    return _of_arrays(tf.function(function, input_signature=signature, autograph=False), signature)


def _of_arrays(graph, signature):
    """A function of arrays that returns an array."""
    graph = graph.get_concrete_function()

    def call(*arguments):
        return graph(*map(tf.constant, arguments, [spec.dtype for spec in signature])).numpy()

    return call
