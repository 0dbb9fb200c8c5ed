"""The checkpoints of a training run: one file each, and the model of the last one.

`checkpoints/ckpt-STEP.safetensors` in a run's directory has every variable of the training by name,
`position/NAME` for each number of its position, and `checksum`, which finds damage.
"""

import re
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tta.atomic import whole_file
from tta.checked_files import read_tensors
from tta.errors import InputError, located
from tta.modeling.config.base import read_config
from tta.modeling.config.weights import named
from tta.modeling.formats.weights import Build, assign_weights, check_size
from tta.names import CONFIG

CHECKPOINTS = "checkpoints"  # the folder in a run's directory
POSITION = "position/"
_CHECKSUM = "checksum"


def checkpoint_path(folder: Path, step: int) -> Path:
    """The file of a step's checkpoint."""
    return folder / f"ckpt-{step}.safetensors"


def checkpoint_steps(folder: Path) -> list[int]:
    """The steps of the checkpoints in a folder, in ascending order. The folder may be missing."""
    matches = (re.fullmatch(r"ckpt-(\d{1,18})\.safetensors", p.name) for p in folder.glob("ckpt-*"))
    return sorted(int(match[1]) for match in matches if match)


def has_checkpoints(directory: Path) -> bool:
    """Whether a directory is that of a training run with a checkpoint."""
    return (directory / CONFIG).exists() and bool(checkpoint_steps(directory / CHECKPOINTS))


def write_checkpoint(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Writes a checkpoint, which appears when it is complete; its folder is made if needed."""
    from safetensors.numpy import save

    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(save(arrays | {_CHECKSUM: _checksum(arrays)}))


def read_checkpoint(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint; InputError if it is missing or damaged."""
    arrays = read_tensors(path)
    if not np.array_equal(arrays.pop(_CHECKSUM, None), _checksum(arrays)):
        raise InputError("damaged: its checksum is wrong", path)
    return arrays


def _checksum(arrays):
    """CRC-32 of names, types, shapes and values: [1] uint32."""
    value = 0
    for name, array in sorted(arrays.items()):
        value = zlib.crc32(f"{name} {array.dtype} {array.shape}".encode(), value)
        value = zlib.crc32(array.tobytes(), value)
    return np.array([value], np.uint32)


def newest_checkpoint(
    folder: Path, read: Callable[[Path], Any]
) -> tuple[int, Any, list[tuple[Path, InputError]]]:
    """Reads the newest good checkpoint in a folder that has one: `read` returns or raises.

    Returns its step, what `read` returned, and the newer checkpoints with their errors. Raises the
    first of these errors if none is good.
    """
    errors: list[tuple[Path, InputError]] = []
    for step in reversed(checkpoint_steps(folder)):
        path = checkpoint_path(folder, step)
        try:
            return step, read(path), errors
        except InputError as error:
            errors.append((path, error))
    raise errors[0][1]


def load_run(directory: Path, build: Build, keep_segments: bool = False) -> Any:
    """Builds the model of an unfinished run from its last checkpoint; says so on stderr.

    If that one is damaged, the one before it is used. The run's directory has `config.json` and at
    least one checkpoint. `build` makes the model of a config; segments are as it says.

    The model scores as at that step. Its outputs are not standardized yet (see
    `LanguageModel.standardize_outputs`); a run does this when it finishes. Raises InputError if the
    checkpoints are damaged or do not fit the config.
    """
    config = read_config(directory / CONFIG)
    step, model, errors = newest_checkpoint(
        directory / CHECKPOINTS, lambda path: _load(path, config, directory, build)
    )
    for _, error in errors:
        print(error, file=sys.stderr)
    note = f"training has not finished; using the checkpoint of step {step:,}"
    print(f"{directory}: {note}", file=sys.stderr)
    return model


def _load(path, config, directory, build):
    arrays = read_checkpoint(path)
    check_size(sum(array.size for array in arrays.values()), config, CONFIG, path)
    with located(path=directory / CONFIG):
        model = build(config)
    names = [name for name, _ in named(config.weights)]
    assign_weights(model, {name: arrays[name] for name in names if name in arrays}, path)
    return model
