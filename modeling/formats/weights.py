"""`model.weights.h5`: a model's weights by name, each array with a checksum."""

import io

import h5py
import numpy as np

from tta.atomic import whole_file
from tta.errors import InputError


def save_weights(model, path, dtype="float32", fingerprints=None):
    """Writes every trained weight, whole or not at all.

    Args:
        model: has `named_weights()`.
        path: of the file; replaced if it exists.
        dtype: "float32" or "float16", of the arrays in the file.
        fingerprints: {name of a file: its SHA-256} of what the weights belong to, kept with them.

    Raises:
        InputError: a weight is not finite, or too large for the dtype.
        OSError: the disk is full.
    """
    with np.errstate(over="ignore"):
        arrays = {n: np.asarray(v).astype(dtype) for n, v in model.named_weights().items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise InputError(f"weight {name} holds values that {dtype} cannot hold", path)
    # In memory first: on a full disk, HDF5 does not fail but leaves a broken file.
    content = io.BytesIO()
    # This version of the format has checksums on its own structures, too.
    with h5py.File(content, "w", libver=("v110", "v110")) as file:
        file.attrs.update(fingerprints or {})
        for name, array in arrays.items():
            file.create_dataset(name, data=array, fletcher32=True)
    with whole_file(path) as file:
        file.write(content.getbuffer())


def load_weights(model, path):
    """Assigns every weight of the model from a file that `save_weights` wrote.

    Returns:
        Its `fingerprints`, a dict.

    Raises:
        InputError: the file is missing or damaged, or does not fit the model.
    """
    values = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise InputError(f"weight {name} lies in another file", path)
            values[name] = item  # Read when it is known to fit.

    try:
        with h5py.File(path, "r") as file:
            file.visititems(collect)
            assign_weights(model, values, path)
            return dict(file.attrs)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        rule = str(error).splitlines()[0]
        raise InputError(f"not a readable weights file: {rule}", path) from None


def assign_weights(model, values, source):
    """Assigns arrays to the model's weights by name.

    Args:
        model: has `named_weights()`.
        values: {name: array or h5py dataset}; exactly the model's names and shapes, of a float
            type, all finite.
        source: the file that they come from, for errors.

    Raises:
        InputError: a name is missing or too many, a shape or type is wrong, or a value is not
            finite.
    """
    weights = model.named_weights()
    if missing := sorted(set(weights) - set(values)):
        raise InputError(f"weight {missing[0]} is missing ({len(missing)} in all)", source)
    if unknown := sorted(set(values) - set(weights)):
        raise InputError(f"weight {unknown[0]} is not one of the model's", source)
    for name, variable in weights.items():
        value = values[name]
        if value.shape != tuple(variable.shape):
            raise InputError(
                f"weight {name} has shape {list(value.shape or ())}, "
                f"the config asks for {list(variable.shape)}",
                source,
            )
        if value.dtype.kind != "f":
            raise InputError(f"weight {name} is of type {value.dtype}, not a float", source)
    for name, variable in weights.items():
        with np.errstate(over="ignore"):
            value = np.asarray(values[name][()]).astype("float32")
        if not np.isfinite(value).all():
            raise InputError(f"weight {name} holds values that are not finite", source)
        variable.assign(value)
