"""The weights of a model by name: which ones a config has, and the part of them that a layer uses.

Names and their order are those of the Keras models, so that the digests of weights are equal.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tta.scoring.engines.onnxruntime.graphs.graph import Graph, Tensor


class Arrays:
    """A model as its config and float32 arrays; the weights are read into it.

    Attributes:
        config: a `ModelConfig`.
        arrays: {name: array}, all that `named_weights` has.
    """

    def __init__(self, config: Any):
        self.config = config
        self.arrays: dict[str, np.ndarray] = {}

    def named_weights(self) -> dict[str, "_Weight"]:
        """{name: an object with the weight's shape and values, and with `assign`}."""
        return {name: _Weight(self.arrays, name, shape) for name, shape in shapes(self.config)}


@dataclass(frozen=True)
class _Weight:
    arrays: dict[str, np.ndarray]
    name: str
    shape: tuple[int, ...]

    def assign(self, array: Any) -> None:
        self.arrays[self.name] = np.asarray(array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.arrays[self.name]


@dataclass(frozen=True)
class Weights:
    """Some weights of a model, as tensors of a graph.

    Attributes:
        graph: the graph.
        arrays: {full name: float32 array} of all weights.
        prefix: what the names of these begin with.
        exact: prefixes of the weights whose products stay float32; those of the others are computed
            in int8. None is all.
    """

    graph: Graph
    arrays: Mapping[str, np.ndarray]
    prefix: str = ""
    exact: Collection[str] | None = None

    def of(self, layer: str) -> "Weights":
        """The weights of a part."""
        return Weights(self.graph, self.arrays, f"{self.prefix}{layer}/", self.exact)

    @property
    def are_rounded(self) -> bool:
        """Whether the product with the kernel is computed in int8."""
        return self.exact is not None and self.prefix not in self.exact

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a weight."""
        return self.arrays[self.prefix + name].shape

    def __getitem__(self, name: str) -> Tensor:
        return self.graph.weight(self.prefix + name, self.arrays[self.prefix + name])


def shapes(config: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields (name, shape) of all weights of a model with a softmax, or of an autoencoder."""
    if config.model_type == "autoencoder":
        yield from _encoder("encoder", config.part("encoder"))
        yield from _latent(config)
        yield from _encoder("decoder", config.part("decoder"))
    else:
        yield from _encoder("encoder", config)
    size, vocabulary = config.hidden_size, config.vocab_size
    yield "head/bias", (vocabulary,)
    if config.output_layer == "softmax":
        yield "head/table", (vocabulary, size)
    if config.head_transform:
        yield from _dense("head/transform", size, size)
        yield from _norm("head/transform_norm", size)


def _encoder(name, config):
    size, vocabulary = config.hidden_size, config.vocab_size
    yield f"{name}/embeddings/token_table", (vocabulary, size)
    yield f"{name}/embeddings/position_table", (config.max_position_embeddings, size)
    if config.num_segments:
        yield f"{name}/embeddings/segment_table", (config.num_segments, size)
    yield from _norm(f"{name}/embeddings/norm", size)
    for layer in range(config.num_hidden_layers):
        yield from _block(f"{name}/layer_{layer}", config)
    if config.model_type == "cloze":
        for side in ("forward", "backward"):
            for layer in range(config.num_tower_layers):
                yield from _block(f"{name}/{side}_{layer}", config)
        yield from _norm(f"{name}/query_norm/norm", size)
        for end in ("forward", "backward", "final") if config.norm_first else ():
            yield from _norm(f"{name}/{end}_norm/norm", size)
        yield from _dense(f"{name}/forward_query", size, size)
        yield from _dense(f"{name}/backward_query", size, size)


def _latent(config):
    """What joins the halves of an autoencoder."""
    size, numbers, several = config.hidden_size, config.latent_size, config.num_latents > 1
    if several:
        yield "pooling/queries", (config.num_latents, size)
    yield "connector/kernel", (size, (1 + config.variational) * numbers)
    yield "latent_inputs/added_kernel", (config.latent_numbers, size)
    if config.num_memories:
        yield "latent_inputs/memory_kernel", (numbers, config.num_memories * size)
    elif several:
        yield "latent_inputs/memory_kernel", (numbers, size)
    if config.predicts_length:
        yield from _dense("length_predictor", config.latent_numbers, config.max_position_embeddings)


def _block(name, config):
    size, width = config.hidden_size, config.intermediate_size
    if largest := config.max_relative_distance:
        yield f"{name}/attention/relative_bias", (config.num_attention_heads, 2 * largest + 1)
    for part in ("query", "key", "value", "output"):
        yield from _dense(f"{name}/attention/{part}", size, size)
    yield from _norm(f"{name}/attention_norm/norm", size)
    yield from _dense(f"{name}/feed_forward/intermediate", size, width)
    yield from _dense(f"{name}/feed_forward/output", width, size)
    yield from _norm(f"{name}/feed_forward_norm/norm", size)


def _dense(name, inputs, outputs):
    yield f"{name}/kernel", (inputs, outputs)
    yield f"{name}/bias", (outputs,)


def _norm(name, size):
    yield f"{name}/gamma", (size,)
    yield f"{name}/beta", (size,)
