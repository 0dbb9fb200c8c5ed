"""Finds the directory of a model that a user names, in all folders of models."""

import importlib.util
import os
import re
from pathlib import Path

from tta import names
from tta.errors import InputError, did_you_mean
from tta.modeling.formats import hub
from tta.modeling.formats.model_directory import format_of

_PACKAGE = Path(names.__file__).parent
BUILT_IN = _PACKAGE / "small"
BUILT_IN_NAME = BUILT_IN.name
PRETRAINED = _PACKAGE.resolve().parent / "pretrained"  # in a checkout
# For an installed package, the working directory may be a checkout.
PRETRAINED_HERE = Path("pretrained")
MODELS_VARIABLE = "TTA_MODELS"  # the user's folders of models, separated as in PATH
MODELS_PACKAGE = "tta_models"  # what `pip install ./pretrained` installs

# The ends of files' names -> the kinds of model that they may be.
_KINDS = {
    (".arpa", ".arpa.gz", ".klm", ".binary"): ("kenlm",),
    (".bin",): ("fasttext", "word2vec", "kenlm"),
    (".txt", ".vec", ".gz", ".xz"): ("glove", "word2vec"),
}

WAYS = (
    f"names are those of the folders in pretrained/ of a checkout, in ${MODELS_VARIABLE}, and in "
    "the package that pip install ./pretrained makes; hf:OWNER/NAME is a model of the Hugging Face "
    "Hub that tta.load reads, transformers:NAME any other"
)


def named_models() -> dict[str, Path]:
    """{name: directory} of every model that has a name, the built-in one first.

    If folders have models of the same name, $TTA_MODELS goes first, then the checkout, then the
    installed package.
    """
    user_folders = (
        Path(folder) for folder in os.environ.get(MODELS_VARIABLE, "").split(os.pathsep)
    )
    package = importlib.util.find_spec(MODELS_PACKAGE)
    installed = map(Path, package.submodule_search_locations or ()) if package else ()
    directories = {BUILT_IN_NAME: BUILT_IN}
    for folder in (*user_folders, PRETRAINED, PRETRAINED_HERE, *installed):
        if folder != Path():  # an empty part of the variable
            for path in sorted(folder.glob(f"*/{names.CONFIG}")):
                directories.setdefault(path.parent.name, path.parent)
    return directories


def find_directory(model: str | None) -> Path | str:
    """The path of a model directory, from what the user gave; None is the built-in model.

    A directory of a model is preferred to a name, a name to a directory without one. Raises
    InputError if there is no such directory, nor a model of that name; or as `hub_directory`.
    """
    if model is None:
        return BUILT_IN
    if os.path.isdir(model):
        is_model = format_of(model) or os.path.exists(Path(model) / names.CONFIG)
        return model if is_model else named_models().get(model, model)
    if model == BUILT_IN_NAME:
        return BUILT_IN
    if model.startswith(hub.PREFIX):
        return hub.hub_directory(model)
    directories = named_models()
    if model in directories:
        return directories[model]
    rule = f"no such model directory, nor a model of that name ({', '.join(directories)}); {WAYS}"
    guess = did_you_mean(model, directories) or _other_ways(model)
    raise InputError(rule + guess, model)


def _other_ways(model):
    """How to name a file, or a model of another library, as the end of a message."""
    kinds = next((kinds for ends, kinds in _KINDS.items() if model.endswith(ends)), ())
    if os.path.isfile(model) or os.path.isfile(f"{model}.index"):  # a checkpoint's prefix
        parent = Path(model).parent
        ways = [f"the folder {parent}"] if format_of(parent) else [f"{k}:{model}" for k in kinds]
    else:
        is_name = not kinds and re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", model)
        ways = [f"{k}:{model}" for k in ("hf", "transformers")["/" not in model :] if is_name]
    return f"; did you mean {' or '.join(ways)}?" if ways else ""
