"""The checkpoints of a training run: where they are, and the model of the last one."""

import atexit
import functools
import glob
import math
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from tta.errors import InputError, located
from tta.modeling.config.base import read_config
from tta.modeling.config.weights import named
from tta.modeling.formats.weights import Build, assign_weights, check_size, reading
from tta.names import CONFIG

CHECKPOINTS = "checkpoints"  # the folder in a run's directory
STATE = "state"  # the part of a checkpoint that holds the model's and the optimizer's variables


def state_key(name: str) -> str:
    """The key of a variable in `STATE`: its name with dots for slashes."""
    return name.replace("/", ".")


def plain_path(path: Path) -> Path:
    """The path to give to functions of TensorFlow that read or delete by it, as by a glob.

    If the name of its folder has a character of globs, it goes through a temporary link.
    """
    if not re.search(r"[*?\[\\]", str(path.parent)):
        return path
    return _link(path.parent.absolute()) / path.name


@functools.cache
def _link(folder):
    folder.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix="tta-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    (made / "link").symlink_to(folder)
    return made / "link"


def checkpoint_steps(folder: Path) -> list[int]:
    """The steps of the complete checkpoints in a folder, in ascending order.

    A checkpoint's index file is written last: where it exists, the checkpoint is complete. The
    folder may be missing.
    """
    found = (re.fullmatch(r"ckpt-(\d{1,18})\.index", p.name) for p in folder.glob("*.index"))
    return sorted(int(match[1]) for match in found if match)


def load_run(directory: Path, build: Build) -> Any:
    """Builds the Keras model of an unfinished run from its last checkpoint; says so on stderr.

    If that one is damaged, the one before it is used. The run's directory has `config.json` and at
    least one checkpoint. `build` makes the model of a config.

    The model scores as at that step. Its outputs are not standardized yet (see
    `LanguageModel.standardize_outputs`); a run does this when it finishes.

    Raises:
        InputError: the checkpoints are damaged or do not fit the config.
    """
    config = read_config(directory / CONFIG)
    errors = []
    for step in reversed(checkpoint_steps(directory / CHECKPOINTS)):
        path = directory / CHECKPOINTS / f"ckpt-{step}"
        try:
            model = _load(path, config, directory, build)
        except InputError as error:
            errors.append(error)
            continue
        for error in errors:
            print(error, file=sys.stderr)
        print(
            f"{directory}: training has not finished; using the checkpoint of step {step:,}",
            file=sys.stderr,
        )
        return model
    raise errors[0]


def open_checkpoint(path: Path) -> tuple[Any, dict[str, list[int]]]:
    """Opens a checkpoint of TensorFlow: (its reader, {variable: shape}). No value is read yet.

    TensorFlow finds damage by checksums. An index that is made wrong on purpose, with checksums
    that are right, can end the process (docs/reliability.md).

    Raises:
        InputError: the index cannot be read, or declares more values than the data files hold.
    """
    with reading("not a readable TensorFlow checkpoint", path, tf.errors.OpError):
        reader = tf.train.load_checkpoint(str(plain_path(path)))
        shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        parts = path.parent.glob(f"{glob.escape(path.name)}.data-*")
        stored = sum(part.stat().st_size for part in parts)
        declared = sum(math.prod(shape) * types[name].size for name, shape in shapes.items())
        if declared > stored:  # TensorFlow would allocate memory for them first
            raise InputError(f"it declares {declared:,} bytes of values and has {stored:,}", path)
    return reader, shapes


def _load(path, config, directory, build):
    reader, shapes = open_checkpoint(path)
    check_size(sum(map(math.prod, shapes.values())), config, CONFIG, path)
    with located(path=directory / CONFIG):
        model = build(config)
    keys = {name: _stored_key(name) for name, _ in named(config.weights)}
    with reading("the checkpoint cannot be read", path, tf.errors.OpError):
        values = {name: reader.get_tensor(key) for name, key in keys.items() if key in shapes}
    assign_weights(model, values, path)
    return model


def _stored_key(name):
    """Where TensorFlow stores a variable of `STATE`; it doubles the dots in keys."""
    return f"{STATE}/{state_key(name).replace('.', '..')}/.ATTRIBUTES/VARIABLE_VALUE"
