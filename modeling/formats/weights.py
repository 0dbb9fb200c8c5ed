"""`model.weights.h5`: the weights of a model by name, each array with a checksum."""

import io
import itertools
import json
import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, TypeAlias

import numpy as np

from tta.atomic import whole_file
from tta.checked_files import check_regular, reading
from tta.errors import InputError
from tta.modeling.config.base import ModelConfig
from tta.modeling.config.weights import named


class HasWeights(Protocol):
    """What weights are read into: a Keras model, or what another engine makes of a config."""

    @property
    def config(self) -> Any:
        """The `ModelConfig`, whose `weights` are those of the model."""
        ...

    def named_weights(self) -> Mapping[str, Any]:
        """{name: an array, or a variable}."""
        ...

    def assign(self, values: Iterable[tuple[str, np.ndarray]]) -> None:
        """Takes pairs of a weight's name and a float32 array."""
        ...


# Makes the model of a config, whose weights are then read.
Build: TypeAlias = Callable[[Any], Any]


def save_weights(
    model: HasWeights,
    path: Path | str,
    dtype: str = "float32",
    fingerprints: dict[str, str] | None = None,
) -> None:
    """Writes all weights as "float32" or "float16". The file appears only when it is complete.

    `fingerprints`, {name of a file that the weights belong to: its SHA-256}, are stored with them.

    Raises:
        InputError: a weight is not finite, or too large for the dtype.
        OSError: the disk is full.
    """
    with np.errstate(over="ignore"):
        arrays = {n: np.asarray(v).astype(dtype) for n, v in model.named_weights().items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise InputError(f"weight {name} holds values that {dtype} cannot hold", path)
    import h5py

    # Written to memory first: on a full disk, HDF5 leaves a broken file without an error.
    content = io.BytesIO()
    with _new_file(content) as file:
        file.attrs.update(fingerprints or {})
        groups = {str(group) for name in arrays for group in PurePosixPath(name).parents}
        for name in sorted(groups - {"."}):  # parents first
            h5py.h5g.create(file.id, name.encode(), gcpl=_without_times(h5py.h5p.GROUP_CREATE))
        for name, array in arrays.items():
            file.create_dataset(name, data=array, fletcher32=True, track_times=False)
    with whole_file(path) as file:
        file.write(content.getbuffer())


def _new_file(content):
    """A file in memory, without times. This format also has checksums of its own structures."""
    import h5py

    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_fileobj_driver(h5py.h5fd.fileobj_driver, content)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    start = _without_times(h5py.h5p.FILE_CREATE)
    return h5py.File(h5py.h5f.create(b"weights", h5py.h5f.ACC_TRUNC, start, access))


def _without_times(kind):
    """Properties of a new file or group that does not record when it is made."""
    import h5py

    properties = h5py.h5p.create(kind)
    properties.set_obj_track_times(False)
    return properties


def load_weights(
    model: HasWeights, path: Path | str, index: np.ndarray | None = None
) -> dict[str, Any]:
    """Assigns every weight from a file of `save_weights`; returns the `fingerprints` stored in it.

    With the `index` of this very file, h5py, which takes long to import, is not needed. Raises
    InputError if the file is missing, is damaged or does not fit the model.
    """
    if index is not None and (indexed := _indexed(path, index)):
        assign_weights(model, indexed[0], path)
        return indexed[1]
    import h5py

    values = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            if item.external or item.is_virtual:
                raise InputError(f"weight {name} refers to another file", path)
            values[name] = item  # read after its shape is checked

    rule = "not a readable weights file"
    with reading(rule, path, missing="no such file"), h5py.File(path, "r") as file:
        file.visititems(collect)
        assign_weights(model, values, path)
        fingerprints = dict(file.attrs)
        for name, value in fingerprints.items():
            if not isinstance(value, str):
                raise InputError(f"the attribute {name} must be text", path)
    return fingerprints


def weights_index(path: Path | str) -> np.ndarray:
    """Where the arrays of a file of `save_weights` are in it: [N] uint8, JSON."""
    import h5py

    arrays = {}

    def collect(name, item):
        if isinstance(item, h5py.Dataset):
            chunks = map(item.id.get_chunk_info, range(item.id.get_num_chunks()))
            places = [(*chunk.chunk_offset, chunk.byte_offset) for chunk in chunks]
            arrays[name] = item.dtype.str, item.shape, item.chunks, places

    with h5py.File(path, "r") as file:
        file.visititems(collect)
        content = zlib.crc32(Path(path).read_bytes()), arrays, dict(file.attrs)
    return np.frombuffer(json.dumps(content).encode(), np.uint8)


def _indexed(path, index):
    """{name: array} and fingerprints of a file; None if the index is that of another."""
    check_regular(path)
    try:
        content: Any = np.memmap(path, mode="r")
        crc, arrays, fingerprints = json.loads(index.tobytes())
        if zlib.crc32(content) == crc and all(
            isinstance(fingerprint, str) for fingerprint in fingerprints.values()
        ):
            return {
                name: _from_chunks(content, *layout) for name, layout in arrays.items()
            }, fingerprints
    except (OSError, LookupError, ValueError, TypeError, AttributeError, RecursionError):
        pass
    return None


def _from_chunks(content, dtype, shape, chunk, places):
    """An array in chunks of a file: `places` are where each starts in the array, and its byte.

    Raises ValueError unless the chunks fill the array: its memory is not initialized.
    """
    if np.dtype(dtype).itemsize * math.prod(shape) > len(content):
        raise ValueError("an index of another file")
    starts = itertools.product(*(range(0, n, size) for n, size in zip(shape, chunk, strict=True)))
    if sorted(map(tuple, starts)) != sorted(tuple(place[:-1]) for place in places):
        raise ValueError("an index of another file")
    array, count = np.empty(shape, dtype), math.prod(chunk)
    for *start, offset in places:
        part = array[tuple(slice(a, a + n) for a, n in zip(start, chunk, strict=True))]
        values = np.frombuffer(content, dtype, count, offset).reshape(chunk)
        part[...] = values[tuple(map(slice, part.shape))]
    return array


def check_size(
    num_values: float, config: ModelConfig, config_name: str, source: Path | str
) -> None:
    """Raises InputError if a file has far too few values for its config (before they are read)."""
    if 2 * num_values < config.num_parameters:
        raise InputError(
            f"it holds at most {num_values:,.0f} values, too few for the "
            f"{config.num_parameters:,} parameters of {config_name}",
            source,
        )


def assign_weights(model: HasWeights, values: Mapping[str, Any], source: Path | str) -> None:
    """Assigns arrays to the weights of a model by name.

    Args:
        model: the model.
        values: {name: array or h5py dataset}. Names and shapes are exactly those of the table
            `config.weights`; all values are floats and finite.
        source: the file that the values come from, for errors.

    Raises:
        InputError: a name is missing or unknown, a shape or type is wrong, or a value is not
            finite.
    """
    weights = dict(named(model.config.weights))
    if missing := sorted(set(weights) - set(values)):
        raise InputError(f"weight {missing[0]} is missing ({len(missing)} in all)", source)
    if unknown := sorted(set(values) - set(weights)):
        raise InputError(f"weight {unknown[0]} is not one of the model's", source)
    for name, weight in weights.items():
        value = values[name]
        if value.shape != weight.shape:
            raise InputError(
                f"weight {name} has shape {list(value.shape or ())}, "
                f"the config requires {list(weight.shape)}",
                source,
            )
        if value.dtype.kind != "f":
            raise InputError(f"weight {name} has type {value.dtype}, not a float type", source)
        if hasattr(value, "chunks") and not _is_plain(value):
            raise InputError(f"weight {name} is not stored as plain numbers", source)
    model.assign(_finite_values(weights, values, source))


def _finite_values(names, values, source):
    """Yields (name, float32 array), so that one array more than the model's is in memory."""
    for name in names:
        with np.errstate(over="ignore"):
            value = np.asarray(values[name][()]).astype("float32")
        if not np.isfinite(value).all():
            raise InputError(f"weight {name} holds values that are not finite", source)
        yield name, value


def _is_plain(dataset):
    """Whether reading takes no more memory than its numbers: none is filled in or unpacked."""
    chunks = dataset.chunks or ()
    return dataset.id.get_storage_size() >= dataset.nbytes and math.prod(chunks) <= dataset.size
