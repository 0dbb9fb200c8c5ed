"""Finds the directory of a model that a user names: the built-in model, or one of `pretrained/`."""

import os
import re
from pathlib import Path

from tta import names
from tta.errors import InputError, did_you_mean

_PACKAGE = Path(names.__file__).parent
BUILT_IN = _PACKAGE / "small"
BUILT_IN_NAME = BUILT_IN.name
PRETRAINED = _PACKAGE.resolve().parent / "pretrained"  # in a checkout
# For an installed package, the working directory may be a checkout.
PRETRAINED_HERE = Path("pretrained")


def find_directory(model: str | None) -> Path | str:
    """The path of a model directory, from what the user gave; None is the built-in model.

    A directory that exists is preferred to a name.

    Raises:
        InputError: there is no such directory, nor a model of that name.
    """
    if model is not None and os.path.isdir(model):
        return model
    if model in (None, BUILT_IN_NAME):
        return BUILT_IN
    trained = {
        path.parent.name: path.parent
        for folder in (PRETRAINED_HERE, PRETRAINED)
        for path in folder.glob(f"*/{names.CONFIG}")
    }
    if model in trained:
        return trained[model]
    known = [BUILT_IN_NAME, *sorted(trained)]
    rule = f"no such model directory, nor a model of that name ({', '.join(known)})"
    rule += did_you_mean(str(model), known)
    if re.fullmatch(r"[\w.-]+/[\w.-]+", str(model)) and not str(model).startswith("."):
        rule += "; for a model of a hub, download its folder first: hf download " + str(model)
        rule += " --local-dir FOLDER"
    raise InputError(rule, model)
