"""Finds and loads the model that a user names: built-in, directory, trained model, or kind:path."""

import inspect
import os
from dataclasses import fields, replace
from typing import Any

from tta.choices import MIXED
from tta.data.text.files import STANDARD_STREAM
from tta.errors import InputError, did_you_mean
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.hub import PREFIX
from tta.modeling.formats.trained_models import find_directory
from tta.registry import Registry
from tta.scoring.engines.options import FOR_LISTS
from tta.scoring.scorers.inference.mixed import MixedModel
from tta.scoring.scorers.options import DEFAULTS, ScoreOptions
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
    model: os.PathLike | str | None = None, options: ScoreOptions = DEFAULTS, **of_kind: Any
) -> Scorer:
    """Loads a model; see `tta.load`.

    Args:
        model: None or "small", the built-in model; a model directory; a name of `named_models`;
            "hf:OWNER/NAME"; or "kind:path" with one of `KINDS`. A directory of a model is
            preferred to a name.
        options: the arguments of `tta.load` after the model. Those that a kind does not have are
            ignored, so that models of several kinds can share them.
        **of_kind: for "kind:path", further parameters of the kind's class, which `tta.load` does
            not have.

    Raises:
        InputError: there is no such model or kind, or its files are missing or malformed.
        TypeError: there is no such parameter.
    """
    if options.precision == MIXED:
        return _in_two_precisions(model, options, of_kind)
    if options.cache is not None:
        if options.cache == STANDARD_STREAM:
            raise InputError("the cache must be a file, not standard output", options.cache)
        from tta.scoring.scorers.inference.cache import with_cache
        from tta.scoring.scorers.inference.store import ResultStore

        store = ResultStore(os.path.abspath(options.cache))  # also where a copy is unpickled
        return with_cache(load_scorer(model, replace(options, cache=None), **of_kind), store)
    if options.begin_token is not None and not str(model).startswith("transformers:"):
        raise InputError("only a causal model, transformers:NAME, has a begin_token", model)
    if model is not None:
        model = os.fspath(model)
        kind, colon, path = model.partition(":")
        if colon and not (model.startswith(PREFIX) or os.path.isdir(model)):
            scorer = _class_of(kind, model)
            return scorer(path, **_parameters(scorer, options), **of_kind)
    if of_kind:
        raise TypeError(f"a model directory has no parameter {', '.join(of_kind)}")

    from tta.scoring.scorers.text_model import TextModel

    lm = TextModel.from_directory(find_directory(model), options)
    of_family = MODEL_TYPES.load(lm.model_type).part("scorer")
    return lm if of_family is None else of_family.of(lm)


def _in_two_precisions(
    model: os.PathLike | str | None, options: ScoreOptions, of_kind: dict[str, Any]
) -> Scorer:
    """A model in mixed precision; one that has no precision, such as an n-gram model, as it is."""
    in_float32 = replace(options, precision="float32")
    if options.engine == "auto":
        in_float32 = replace(in_float32, engine="onnxruntime")
    exact = load_scorer(model, in_float32, **of_kind)
    if "precision" not in exact.settings:
        return exact
    if options.engine == "tensorflow":
        raise InputError(f"precision mixed needs engine onnxruntime: {FOR_LISTS}", model)
    rounded = load_scorer(model, replace(in_float32, precision="int8"), **of_kind)
    return MixedModel(rounded, exact)


def _class_of(kind: str, model: str) -> Any:
    """The class of a kind, of `model`, which is "kind:path"."""
    if kind not in KINDS:
        raise InputError(
            f"no such model directory, and {kind!r} is not a kind of model; "
            f"kinds are {', '.join(KINDS)}{did_you_mean(kind, KINDS)}",
            model,
        )
    if model == f"{kind}:":
        raise InputError(f"expected a path, as in {kind}:path", model)
    return KINDS.load(kind)


def _parameters(scorer: Any, options: ScoreOptions) -> dict[str, Any]:
    """The options that the class of a kind has as parameters: {name: value}."""
    takes = inspect.signature(scorer).parameters
    # The cache is around the scorer.
    names = [field.name for field in fields(ScoreOptions) if field.name != "cache"]
    parameters = {name: getattr(options, name) for name in names if name in takes}
    return parameters | ({"options": options} if "options" in takes else {})
