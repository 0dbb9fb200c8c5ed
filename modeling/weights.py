"""`model.weights.h5`: a model's weights by name, each array with a checksum."""

import os
from pathlib import Path

import h5py
import numpy as np

from tta.errors import InputError


def save_weights(model, path, dtype="float32"):
    """Writes every trained weight, whole or not at all.

    Args:
        model: has `named_weights()`.
        path: of the file; replaced if it exists.
        dtype: "float32" or "float16", of the arrays in the file.
    """
    path = Path(path)
    partial = path.with_name(path.name + ".tmp")
    with h5py.File(partial, "w") as file:
        for name, variable in model.named_weights().items():
            array = np.asarray(variable, dtype=dtype)
            file.create_dataset(name, data=array, fletcher32=True)
    os.replace(partial, path)


def load_weights(model, path):
    """Assigns every weight of the model from a file that `save_weights` wrote.

    Raises:
        InputError: the file is missing or damaged, or does not fit the model.
    """
    values = {}
    try:
        with h5py.File(path, "r") as file:
            file.visititems(
                lambda name, item: (
                    values.__setitem__(name, item[()]) if isinstance(item, h5py.Dataset) else None
                )
            )
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise InputError(f"not a readable weights file: {error}", path) from None
    assign_weights(model, values, path)


def assign_weights(model, values, source):
    """Assigns arrays to the model's weights by name.

    Args:
        model: has `named_weights()`.
        values: {name: array}; exactly the model's names and shapes, all finite.
        source: the file that they come from, for errors.

    Raises:
        InputError: a name is missing or too many, a shape is wrong, or a value is not finite.
    """
    weights = model.named_weights()
    if missing := sorted(set(weights) - set(values)):
        raise InputError(f"weight {missing[0]} is missing ({len(missing)} in all)", source)
    if unknown := sorted(set(values) - set(weights)):
        raise InputError(f"weight {unknown[0]} is not one of the model's", source)
    for name, variable in weights.items():
        value = np.asarray(values[name])
        if value.shape != tuple(variable.shape):
            raise InputError(
                f"weight {name} has shape {list(value.shape)}, "
                f"the config asks for {list(variable.shape)}",
                source,
            )
        if not np.isfinite(value).all():
            raise InputError(f"weight {name} holds values that are not finite", source)
        variable.assign(value.astype("float32"))
