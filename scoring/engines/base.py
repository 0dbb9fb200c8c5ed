"""What a scorer needs from a neural network: ids of tokens in, log-probabilities or vectors out.

A new engine is one class. B batch, T tokens, D vector size, V vocabulary.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tta.data.vocabulary.load import AnyTokenizer
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES

# Three arrays of a batch -> an array. The first two are the ids of tokens, [B, T] int32, and the
# padding mask, [B, T] bool, True at real tokens. If nothing else is said, the third one is
# `wanted`, [B, T] bool: the tokens whose results are used. The others' may be any finite numbers.
BatchFunction = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]

# Representation -> the tokens of a sentence whose vectors it takes: its pieces, or the begin or the
# end token.
REPRESENTATIONS = {
    "context": "text",
    "fit": "text",
    "embed": "text",
    "layers": "text",
    "token": "text",
    "cls": "begin",
    "eos": "end",
}


class Engine(ABC):
    """Runs a network. What it computes is fixed when it is made; only the weights may change.

    Methods return functions. A function may be called from several threads at once. It has the
    weights of the moment when it was asked for, so ask for it again for each block of batches.

    Attributes:
        name: in signatures.
        config: the `ModelConfig` of the model.
        tokenizer: the tokenizer whose ids it takes; None if the model has no vocabulary.
        precision: of matrix products, "float32", "bfloat16", "int8", or "int8-fixed": the
            inputs of a product have a fixed range, for which the model was calibrated.
        normalizer: "exact" or "learned".
        gives_scores: whether it has `token_scores`: the family gives scores, and the head
            probabilities.
        scores_first_token: whether the begin token has a score.
        predicts_vectors: whether it predicts the vectors of tokens ("fit") instead of
            probabilities.
        batches_in_flight: the number of batches to work on at the same time.
        batch_tokens: the number of tokens in a batch, padding included, if the options give none.
        vector_sizes: {representation: D}, the default first. See `TextModel.encode`.
        ranges: of the inputs of products in int8, as in `Network`.
        device: where it computes, as in `tta.load`.
        is_shared: whether a caller has `model`, and may have changed the weights.
        in_tensorflow: loads the model again, as a `TensorFlowEngine`; None if this is one, or if
            the model is in no directory.
    """

    name: str
    config: Any
    tokenizer: AnyTokenizer | None
    precision: str
    normalizer: str
    gives_scores: bool
    scores_first_token: bool
    predicts_vectors: bool
    batches_in_flight: int
    batch_tokens: int = 4096
    vector_sizes: Mapping[str, int]
    ranges: Mapping[str, np.ndarray] | None = None
    device: str = "cpu"
    is_shared: bool = False
    in_tensorflow: Callable[[], "Engine"] | None = None

    @property
    def model(self) -> Any:
        """The Keras model. Raises InputError if the engine has none."""
        raise InputError("lm.model is a Keras model, and this model was not loaded by its name")

    @abstractmethod
    def weights(self) -> Mapping[str, np.ndarray]:
        """{name: float32 array} of all weights, under the names of `model.weights.h5`."""

    def weights_digest(self) -> str:
        """Eight hexadecimal digits that change with the weights: names, shapes, float32 values."""
        sha256, arrays = hashlib.sha256(), self.weights()
        for name in sorted(arrays):
            sha256.update(f"{name} {arrays[name].shape}:".encode())
            sha256.update(np.ascontiguousarray(arrays[name]).data)
        return sha256.hexdigest()[:8]

    def input_files(self) -> list[Path]:
        """The files that the model reads vectors from, besides ids and weights."""
        return []

    @abstractmethod
    def token_scores(self) -> BatchFunction:
        """Natural log-probability of every token: [B, T] float32."""

    @abstractmethod
    def token_vectors(self, representation: str) -> BatchFunction:
        """The vectors of a representation at every token: [B, T, D] float32.

        Raises InputError if the model does not have the representation.
        """

    def attention(self, ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        """The weights of the keys in each attention, in the order of the layers.

        Takes the first two arrays of a `BatchFunction`. Returns arrays [B, heads, T, S] float32. S
        is T; in a layer of a cloze's query it is 2T, forward and then backward states.

        Raises InputError if the model has no attention, or the engine gives no maps of it.
        """
        kind = self.config.model_type
        raise InputError(f"attention maps of a model of type {kind} need engine tensorflow")


def normalizer_of(config: Any, normalizer: str) -> str:
    """The normalizer that "auto" stands for; "exact" and "learned" are themselves.

    Raises InputError if the model has no learned normalizer.
    """
    if normalizer == "auto":
        return "learned" if config.learned_normalizer else "exact"
    if normalizer == "learned" and not config.learned_normalizer:
        raise InputError(
            "the model has no learned normalizer: it was trained without log_normalizer_weight"
        )
    return normalizer


def lacks(config: Any) -> str | None:
    """What of a model with this `ModelConfig` onnxruntime does not compute; None if it runs it."""
    # A model of parts, encoder and decoder, has the encoders of these.
    if not config.parts and MODEL_TYPES.load(config.model_type).encoder is None:
        return f"models of type {config.model_type}"
    if config.output_layer not in ("tied_softmax", "softmax"):
        return f"output_layer {config.output_layer}"
    return None
