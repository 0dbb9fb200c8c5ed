"""The checkpoints of a training run: where they are, and the model of the last one."""

import math
import re
import sys
from pathlib import Path
from typing import Any

import tensorflow as tf

from tta.errors import located
from tta.modeling.config.base import read_config
from tta.modeling.formats.weights import assign_weights, check_size, reading
from tta.modeling.models.language_model import build_model
from tta.names import CONFIG

CHECKPOINTS = "checkpoints"  # the folder in a run's directory
STATE = "state"  # the part of a checkpoint that holds the model's and the optimizer's variables


def state_key(name: str) -> str:
    """The key of a variable in `STATE`: its name with dots for slashes."""
    return name.replace("/", ".")


def checkpoint_steps(folder: Path) -> list[int]:
    """The steps of the complete checkpoints in a folder, in ascending order.

    A checkpoint's index file is written last: where it exists, the checkpoint is complete. The
    folder may be missing.
    """
    found = (re.fullmatch(r"ckpt-(\d{1,18})\.index", p.name) for p in folder.glob("*.index"))
    return sorted(int(match[1]) for match in found if match)


def load_run(directory: Path, dtype: str = "float32") -> Any:
    """Builds the Keras model of an unfinished run from its last checkpoint; says so on stderr.

    The model scores as at that step. Its outputs are not standardized yet (see
    `LanguageModel.standardize_outputs`); a run does this when it finishes.

    Args:
        directory: the run's directory, with `config.json` and at least one checkpoint.
        dtype: as in `LanguageModel`.

    Raises:
        InputError: the checkpoint is damaged or does not fit the config.
    """
    step = checkpoint_steps(directory / CHECKPOINTS)[-1]
    path = directory / CHECKPOINTS / f"ckpt-{step}"
    config = read_config(directory / CONFIG)
    with reading("the checkpoint cannot be read", path, tf.errors.OpError):
        reader = tf.train.load_checkpoint(str(path))
        shapes = reader.get_variable_to_shape_map()
    check_size(sum(map(math.prod, shapes.values())), config, CONFIG, path)
    with located(path=directory / CONFIG):
        model = build_model(config, dtype)
    keys = {name: _stored_key(name) for name in model.named_weights()}
    with reading("the checkpoint cannot be read", path, tf.errors.OpError):
        values = {name: reader.get_tensor(key) for name, key in keys.items() if key in shapes}
    assign_weights(model, values, path)
    print(
        f"{directory}: training has not finished; using the checkpoint of step {step:,}",
        file=sys.stderr,
    )
    return model


def _stored_key(name):
    """Where TensorFlow stores a variable of `STATE`; it doubles the dots in keys."""
    return f"{STATE}/{state_key(name).replace('.', '..')}/.ATTRIBUTES/VARIABLE_VALUE"
