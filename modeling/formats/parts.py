"""Takes a half of an autoencoder out as a language model, also by name: `decoder:MODEL`."""

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from tta.atomic import check_new_folder, whole_folder
from tta.errors import InputError, located
from tta.modeling.config.weights import named
from tta.modeling.formats.model_directory import load_model, save_model, vocabulary_path
from tta.modeling.formats.trained_models import find_directory
from tta.modeling.formats.weights import Build
from tta.names import VOCABULARY

PARTS = ("encoder", "decoder")


def part_of(model: Any, part: str, build: Build | None = None) -> Any:
    """A half of a `SequenceAutoencoder` as a `LanguageModel`, with copies of its weights.

    The "decoder" is a biLM, T-TA or uniLM, with the head. Its scores are those of a decoder without
    a latent vector. The "encoder" is a biLM. It gets the head too, but the head belongs to the
    decoder: after the training, scores of the encoder mean nothing. `build` is as in `load_model`,
    for models that it has built. Raises InputError if there is no part of that name, or the model
    has no parts.
    """
    if part not in PARTS:
        raise InputError(f"part must be {' or '.join(PARTS)}, not {part!r}")
    if part not in model.config.parts:
        family = model.config.model_type
        raise InputError(f"a model of type {family} has no {part} of its own; an autoencoder has")
    if build is None:
        from tta.modeling.models.language_model import build_to_load  # imports Keras

        build = partial(build_to_load, dtype=model.dtype_policy.name)
    half = build(model.config.part(part))
    theirs = model.named_weights()
    names = (name for name, _ in named(half.config.weights))
    half.assign((name, theirs[name.replace("encoder/", f"{part}/")]) for name in names)
    return half


def load_part(
    directory: Path | str, part: str | None, dtype: str = "float32", build: Build | None = None
) -> Any:
    """A half of the autoencoder in a directory, or with None the model as it is.

    Other arguments are as in `load_model`; errors are those of it and of `part_of`.
    """
    model = load_model(directory, dtype, build=build)
    if part is None:
        return model
    with located(path=directory):
        return part_of(model, part, build)


def load_named(name: str | None) -> tuple[Path, Any]:
    """The directory and the Keras model that a user names, a half of an autoencoder included.

    `name` is as in `find_directory`, or "encoder:MODEL" or "decoder:MODEL"; a directory that exists
    is preferred. Errors are those of `load_model` and `load_part`.
    """
    part, colon, path = (name or "").partition(":")
    if not colon or part not in PARTS or os.path.isdir(name or ""):
        part, path = None, name
    directory = Path(find_directory(path))
    return directory, load_part(directory, part)


def save_part(directory: Path | str, part: str, output_dir: Path | str) -> None:
    """Writes a half of an autoencoder as a model directory of its own, with the vocabulary.

    `part` is "encoder" or "decoder". `output_dir` has no model yet, and is made if needed. Raises
    InputError as `load_part`, or `output_dir` has files.
    """
    output_dir = Path(output_dir)
    check = partial(check_new_folder, output_dir)
    check()
    half = load_part(directory, part)
    note = "Its scores mean nothing: the head is the decoder's.\n" if part == "encoder" else ""
    name = Path(directory).resolve().name
    readme = f"# {output_dir.name}\n\nThe {part} of the autoencoder {name}.\n{note}"
    output_dir.parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(output_dir, check) as folder:
        source = vocabulary_path(directory)
        if source.exists():
            shutil.copy(source, folder / VOCABULARY)
        save_model(half, folder, readme)
