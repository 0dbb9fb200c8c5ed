"""What layers share: weights of a table, and arguments or a config, from which they are made again.

The tables are those of `tta.modeling.config.weights`.
"""

import contextlib
import inspect
import math
import random
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import keras
import numpy as np
from keras import ops

from tta.modeling.config.base import ModelConfig, config_from
from tta.modeling.config.weights import Dropout, LayerTable, Weight, WeightTable
from tta.modeling.kits.custom_gradients import trained_layer_norm
from tta.modeling.kits.keras import centred_layer_norm, product
from tta.modeling.kits.types import Tensor
from tta.registry import resolve


class ReplaceableParts:
    """A layer or model in which another layer may take the place of a part.

    `block.feed_forward = Mine(config)` replaces the part and its weights. The new layer takes the
    name of the old one, so that its weights have the names of those that they replace. Keras by
    itself refuses new parts of a built layer, and keeps the old weights.
    """

    _tracker: Any  # Keras's
    _layers: list[Any]

    def __setattr__(self, name, value):
        old = _part(self, name)
        is_new = isinstance(value, keras.layers.Layer) and value is not old
        if not (is_new and isinstance(old, keras.layers.Layer)):
            super().__setattr__(name, value)
            return
        tracker, parts = self._tracker, self._layers
        was_locked, place = tracker.locked, [id(part) for part in parts].index(id(old))
        _take_the_name(value, old)
        tracker.unlock()
        try:
            tracker.untrack(old)
            super().__setattr__(name, value)
            parts.insert(place, parts.pop())
        finally:
            tracker.locked = was_locked


def _take_the_name(layer, old):
    """Gives a layer and its weights the names of another one, and builds it if it is not built."""
    layer.name = old.name
    path = old.path or old.name
    if not layer.built:
        with contextlib.ExitStack() as scopes:
            for name in path.split("/")[:-1]:
                scopes.enter_context(keras.name_scope(name))
            layer.build_from_config(old.get_build_config())
        return
    for variable in layer.variables:
        _, _, below = variable.path.rpartition(f"{layer.path}/")
        variable._path = f"{path}/{below}"


class TableLayer(ReplaceableParts, keras.layers.Layer):
    """A layer whose weights are those of a `WeightTable`; functions over a `KerasKit` read them."""

    @property
    def layers(self) -> list[Any]:
        """Its parts, for Keras's `summary(expand_nested=True)`."""
        return self._flatten_layers(include_self=False, recursive=False)

    def add_weights(self, table: WeightTable, layer_norm_eps: float = 1e-12) -> None:
        """Creates the weights of a table; the kit casts them where it needs to.

        A weight, a LayerNorm, a dropout or another part becomes the attribute of its name, and a
        dense layer NAME_dense. A part that the layer has already made stays. A `LayerTable` names
        the layer that it becomes.
        """
        for name, part in table.items():
            if (
                isinstance(part, (Weight, Dropout))
                or _has(self, name)
                or _has(self, f"{name}_dense")
            ):
                continue
            if part.keys() == {"kernel", "bias"}:
                setattr(
                    self, f"{name}_dense", dense_layer(part, name=name, dtype=self.dtype_policy)
                )
            elif part.keys() == {"gamma", "beta"}:
                setattr(self, name, _layer_norm(part, layer_norm_eps, name))
            elif isinstance(part, LayerTable):
                layer = resolve(part.layer)(**part.arguments, name=name, dtype=self.dtype_policy)
                layer.build((None, None, layer.config.hidden_size))
                setattr(self, name, layer)
            else:
                layer = Part(name=name, dtype=self.dtype_policy)
                layer.build(part, layer_norm_eps)
                setattr(self, name, layer)
        for name, weight in table.items():
            if isinstance(weight, Weight):
                start = initializer(weight.initializer)
                variable = self.add_weight(weight.shape, start, name=name, autocast=False)
                setattr(self, name, variable)
            elif isinstance(weight, Dropout):
                drop = keras.layers.Dropout(weight.rate, autocast=False) if weight.rate else None
                setattr(self, name, drop)

    def of(self, path: str) -> Any:
        """The layer of a part of the table, as functions ask for it: "attention/query"."""
        layer: Any = self
        for name in path.split("/"):
            dense = f"{name}_dense"
            layer = getattr(layer, dense if _has(layer, dense) else name)
        return layer

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a weight."""
        return self[name].shape


class Part(TableLayer):
    """The weights of a part of a table."""

    def build(self, table, layer_norm_eps=1e-12):
        self.add_weights(table, layer_norm_eps)


@keras.saving.register_keras_serializable("tta")
class Dense(TableLayer, keras.layers.Dense):
    """Keras's Dense, x kernel + bias over the last axis, computed as one product of all rows.

    Args:
        units: the size of the output.
        **kwargs: those of Keras's layer; there is always a bias.

    Call:
        inputs: [..., size].

    Returns:
        [..., units].
    """

    def add_weight(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["autocast"] = False  # the kit casts
        return super().add_weight(*args, **kwargs)

    def call(self, inputs: Tensor, training: bool | None = None):
        is_flat = len(inputs.shape) == 2
        rows = inputs if is_flat else ops.reshape(inputs, (-1, inputs.shape[-1]))
        rows = product(rows, self.kernel, self.bias, self.compute_dtype, training)
        rows = self.activation(rows)
        return rows if is_flat else ops.reshape(rows, (*ops.shape(inputs)[:-1], self.units))

    def quantize(self, mode: Any = None, type_check: bool = True, config: Any = None) -> None:
        """As in Keras, in mode "int8". Keras's `Model.quantize` warns of other modes.

        Keras refuses subclasses, because their `call` may be another function of the kernel.
        """
        super().quantize(mode, type_check=type_check and mode != "int8", config=config)


def _part(layer, name):
    """An attribute that was set, or None; Keras's own, such as `output`, do not count."""
    # Keras's backend torch keeps layers in `_modules`.
    return vars(layer).get(name, vars(layer).get("_modules", {}).get(name))


def _has(layer, name):
    """Whether an attribute was set."""
    return name in vars(layer) or name in vars(layer).get("_modules", ())


def dense_layer(table: WeightTable, **kwargs: Any) -> Any:
    """A built dense layer with the kernel and the bias of a table."""
    inputs, units = table["kernel"].shape
    starts = {f"{name}_initializer": initializer(table[name].initializer) for name in table}
    layer = Dense(units, **starts, **kwargs)
    layer.build((None, None, inputs))
    return layer


class LayerNormalization(keras.layers.LayerNormalization):
    """Keras's LayerNorm of inputs [..., D], or of inputs + more [..., D]; in float32.

    The last one of an encoder, which `magnifies`, is computed as in `centred_layer_norm`. In
    training, sum, LayerNorm and gradients take one pass over the data each.
    """

    magnifies = False
    takes_terms = True  # as `KerasKit.layer_norm` asks

    def call(self, inputs: Tensor, more: Tensor | None = None, training: bool | None = None):
        terms = [inputs] if more is None else [inputs, more]
        if training:
            shape = ops.shape(terms[-1])
            return trained_layer_norm(self, *(ops.broadcast_to(x, shape) for x in terms))
        total: Any = sum(ops.cast(x, "float32") for x in terms)
        return centred_layer_norm(total, self) if self.magnifies else super().call(total)


def _layer_norm(table, epsilon, name):
    """A built LayerNorm: float32, whatever the type of the products."""
    layer = LayerNormalization(epsilon=epsilon, name=name, dtype="float32", autocast=False)
    layer.build((None, None, *table["gamma"].shape))
    return layer


def initializer(start: float | str) -> Any:
    """The initializer that a `Weight` names."""
    if start == "unit_forget_bias":
        return _unit_forget_bias
    return keras.initializers.get(start) if start in ("zeros", "ones") else RandomNumbers(start)


_are_loaded = ContextVar("are_loaded", default=False)


@contextlib.contextmanager
def weights_to_load() -> Iterator[None]:
    """Layers that are built within have zeros in place of random numbers, which take seconds."""
    token = _are_loaded.set(True)
    try:
        yield
    finally:
        _are_loaded.reset(token)


@keras.saving.register_keras_serializable("tta")
class RandomNumbers(keras.initializers.Initializer):
    """Random initial values by NumPy, so that a seed gives the same weights on all backends.

    Args:
        start: a deviation, or "random_normal", "glorot_uniform" or "orthogonal", as in Keras.
        seed: None draws one, as `keras.utils.set_random_seed` says.
    """

    def __init__(self, start: float | str, seed: int | None = None):
        self.start = start
        self.seed = random.randrange(2**31) if seed is None else seed

    def __call__(self, shape, dtype=None):
        if _are_loaded.get():
            return ops.zeros(shape, dtype)
        return ops.convert_to_tensor(_draw(self.start, tuple(shape), self.seed), dtype)

    def get_config(self):
        return {"start": self.start, "seed": self.seed}


def _draw(start, shape, seed):
    """An array float32 of random numbers."""
    generator = np.random.default_rng(seed)
    inputs, outputs = math.prod(shape[:-1]), shape[-1]
    if start == "glorot_uniform":
        limit = math.sqrt(6 / (inputs + outputs * math.prod(shape[:-2])))
        return generator.uniform(-limit, limit, shape).astype(np.float32)
    if start == "orthogonal":
        size = max(inputs, outputs), min(inputs, outputs)
        basis, triangle = np.linalg.qr(generator.standard_normal(size))
        basis *= np.sign(np.diag(triangle))  # else the directions are not uniform
        return np.reshape(basis if inputs >= outputs else basis.T, shape).astype(np.float32)
    values = generator.standard_normal(shape, np.float32)
    if start == "random_normal":
        return 0.05 * values
    while (far := np.abs(values) > 2.0).any():  # truncated
        values[far] = generator.standard_normal(far.sum(), np.float32)
    return start * values


def _unit_forget_bias(shape, dtype=None):
    """Zeros, and ones for the second of the four gates, as in Keras's LSTM."""
    ones = ops.ones((shape[0] // 4,), dtype)
    return ops.concatenate([0 * ones, ones, 0 * ones, 0 * ones])


class PlainLayer(TableLayer):
    """A layer that keeps its arguments as attributes, and is serialized with them."""

    def get_config(self):
        ours = [layer for layer in type(self).__mro__ if issubclass(layer, PlainLayer)][:-1]
        names = {name for layer in ours for name in inspect.signature(layer.__init__).parameters}
        arguments = {name: getattr(self, name) for name in sorted(names - {"self", "kwargs"})}
        return super().get_config() | arguments


class ConfiguredLayer(TableLayer):
    """A layer that reads its sizes from the model's config, and is serialized with it.

    Args:
        config: the model's config.
    """

    def __init__(self, config: ModelConfig, **kwargs: Any):
        super().__init__(**kwargs)
        self.config: Any = config  # each layer reads the fields of its family

    def get_config(self):
        return super().get_config() | {"config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config):
        return cls(**config | {"config": config_from(config["config"])})
