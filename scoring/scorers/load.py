"""Finds and loads the model that a user names: built-in, directory, trained model, or kind:path."""

import inspect
import os
from dataclasses import fields
from typing import Any

from tta.errors import InputError, did_you_mean
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.hub import PREFIX
from tta.modeling.formats.trained_models import find_directory
from tta.registry import Registry
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.scorer import Scorer

# A new kind of scorer is one class and one line here. The class is called with the path, and with
# the options that it has as parameters, or all of them as `options`, a `ScoreOptions`.
KINDS = Registry(
    "kind of model",
    {
        "kenlm": "tta.scoring.scorers.ngram_model:NgramModel",
        "transformers": "tta.scoring.scorers.transformers_model:TransformersModel",
        "encoder": "tta.scoring.scorers.variants:EncoderModel",
        "decoder": "tta.scoring.scorers.variants:DecoderModel",
        "raw": "tta.scoring.scorers.variants:RawModel",
        "random": "tta.scoring.scorers.variants:RandomModel",
    },
)


def load_scorer(
    model: os.PathLike | str | None = None, cache: str | None = None, **options: Any
) -> Scorer:
    """Loads a model; see `tta.load`.

    Args:
        model: None or "small", the built-in model; a model directory; a name of `named_models`;
            "hf:OWNER/NAME"; or "kind:path" with one of `KINDS`. A directory of a model is
            preferred to a name.
        cache: as in `tta.load`.
        **options: the settings of `ScoreOptions`, and for "kind:path" further parameters of the
            kind's class, which `tta.load` does not have. Settings that a kind does not have are
            checked and left out, so that models of several kinds can share them.

    Raises:
        InputError: there is no such model or kind, its files are missing or malformed, or an option
            has a wrong value.
        TypeError: an option is unknown.
    """
    if cache is not None:
        from tta.scoring.scorers.inference.cache import CachedScorer
        from tta.scoring.scorers.inference.store import ResultStore

        store = ResultStore(os.path.abspath(cache))  # also where a copy is unpickled
        return CachedScorer(load_scorer(model, **options), store)
    if options.get("begin_token") is not None and not str(model).startswith("transformers:"):
        raise InputError("only a causal model, transformers:NAME, has a begin_token", model)
    if model is not None:
        model = os.fspath(model)
        kind, colon, path = model.partition(":")
        if colon and not (model.startswith(PREFIX) or os.path.isdir(model)):
            return _load_kind(kind, path, model, options)

    from tta.scoring.scorers.text_model import TextModel

    lm = TextModel.from_directory(find_directory(model), ScoreOptions(**options))
    of_family = MODEL_TYPES.load(lm.model_type).part("scorer")
    return lm if of_family is None else of_family.of(lm)


def _load_kind(kind, path, model, options):
    if kind not in KINDS:
        raise InputError(
            f"no such model directory, and {kind!r} is not a kind of model; "
            f"kinds are {', '.join(KINDS)}{did_you_mean(kind, KINDS)}",
            model,
        )
    if not path:
        raise InputError(f"expected a path, as in {kind}:path", model)
    scorer = KINDS.load(kind)
    takes = inspect.signature(scorer).parameters
    shared = {field.name for field in fields(ScoreOptions)} & options.keys()
    settings = ScoreOptions(**{name: options[name] for name in shared})  # checks the values
    given = {n: v for n, v in options.items() if n in takes or n not in shared}
    return scorer(path, **{"options": settings} if "options" in takes else {}, **given)
