"""Finds the model that a user names: built-in, a directory, a trained one by name, or kind:path."""

import importlib
import inspect
import os
from pathlib import Path

import tta
from tta.errors import InputError

# kind -> its class, or "module:class", which is imported only when it is asked for. A new kind of
# scorer is one class and one line here; the class is called with the path and the options it takes.
KINDS = {
    "kenlm": "tta.scoring.scorers.ngram_model:NgramModel",
    "glove": "tta.scoring.scorers.static_vectors:StaticVectors",
    "word2vec": "tta.scoring.scorers.static_vectors:StaticVectors",
}

# What any model may be loaded with. A kind for which one of them means nothing does not take it,
# and is loaded without it: so models of several kinds can share a command line.
OPTIONS = (
    "precision",
    "score_boundary_tokens",
    "long_sentences",
    "batch_tokens",
    "pll_variant",
    "normalizer",
)

BUILT_IN_NAME = "small"
PRETRAINED = Path(tta.__file__).resolve().parent.parent / "pretrained"  # in a checkout
# An installed package has no checkout around it, but whoever calls it may stand in one.
PRETRAINED_HERE = Path("pretrained")


def load_scorer(model=None, **options):
    """Loads a model; see `tta.load`.

    Args:
        model: None or "small", the built-in model; a model directory; the name of a folder in the
            checkout's `pretrained/`, or the working directory's; or "kind:path", the kind one of
            `KINDS`. A directory that exists wins over a name.
        **options: of the kind's class; those of `OPTIONS` that it does not take are left out.

    Returns:
        A `tta.scoring.scorers.scorer.Scorer`.

    Raises:
        InputError: there is no such model or kind, or its files are missing or malformed.
        TypeError: an option is unknown.
    """
    if model is not None:
        model = os.fspath(model)
        kind, colon, path = model.partition(":")
        if colon and not os.path.isdir(model):
            return _load_kind(kind, path, model, options)

    from tta.scoring.scorers.text_model import TextModel

    return TextModel.from_directory(_find_directory(model), **options)


def _load_kind(kind, path, model, options):
    if kind not in KINDS:
        raise InputError(
            f"no such model directory, and {kind!r} is no kind of model; "
            f"kinds are {', '.join(KINDS)}",
            model,
        )
    if not path:
        raise InputError(f"expected a path, as in {kind}:path", model)
    scorer = KINDS[kind]
    if isinstance(scorer, str):
        module, name = scorer.split(":")
        scorer = getattr(importlib.import_module(module), name)
    takes = inspect.signature(scorer).parameters
    return scorer(
        path, **{name: v for name, v in options.items() if name in takes or name not in OPTIONS}
    )


def _find_directory(model):
    """The model directory that `model` means: a path, or None for the built-in model."""
    if model is None or os.path.isdir(model):
        return model
    if model == BUILT_IN_NAME:
        return None
    trained = {
        path.parent.name: path.parent
        for folder in (PRETRAINED_HERE, PRETRAINED)
        for path in folder.glob("*/config.json")
    }
    if model in trained:
        return trained[model]
    names = ", ".join([BUILT_IN_NAME, *sorted(trained)])
    raise InputError(f"no such model directory, nor a model of that name ({names})", model)
