"""How the outputs of a finished model were standardized, so that it can be undone.

`standardization.safetensors` of a model directory has the mean and the deviation [D] float64 that
`LanguageModel.standardize_outputs` took out, see there.
"""

from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from tta.atomic import whole_file
from tta.checked_files import read_tensors
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model
from tta.names import STANDARDIZATION

_NAMES = {"mean", "deviation"}


def write_standardization(directory: Path, mean: np.ndarray, deviation: np.ndarray) -> None:
    """Writes what was taken out of the outputs: [D] each."""
    arrays = {"mean": mean, "deviation": deviation}
    with whole_file(directory / STANDARDIZATION) as file:
        file.write(save({name: np.asarray(a, np.float64) for name, a in arrays.items()}))


def load_unstandardized(directory: Path | str, dtype: str = "float32") -> Any:
    """As `load_model`, with the outputs as they were before the last step of the training.

    Raises InputError as `load_model`; or the directory does not say how they were standardized.
    """
    model, path = load_model(directory, dtype), Path(directory) / STANDARDIZATION
    mean, deviation = read_standardization(path, model.config.hidden_size)
    if not model.can_standardize_outputs:
        raise InputError("the outputs of such a model are not standardized", path)
    model.standardize_outputs(-mean / deviation, 1 / deviation)
    return model


def read_standardization(path: Path, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the deviation in a file, [size] float64 each.

    Raises InputError if the file is missing or damaged, or has other arrays or numbers.
    """
    arrays = read_tensors(
        path,
        "no such file: the model was finished before it was recorded how its outputs were "
        "standardized, or they were not",
    )
    shapes = {name: (array.shape, array.dtype) for name, array in arrays.items()}
    if shapes != dict.fromkeys(_NAMES, ((size,), np.dtype(np.float64))):
        raise InputError(f"expected mean and deviation, {size} float64 numbers each", path)
    mean, deviation = arrays["mean"], arrays["deviation"]
    with np.errstate(all="ignore"):
        quotients = np.stack([mean, deviation, mean / deviation, 1 / deviation]).astype(np.float32)
    if not (np.isfinite(quotients).all() and (deviation > 0).all()):
        rule = "mean and deviation must be finite, deviation above 0, their quotient finite"
        raise InputError(rule, path)
    return mean, deviation
