"""The files that reranking writes: opened before anything slow, filled when all is known."""

import importlib.util
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from tta.data.nbest.files import FORMATS, write_nbest
from tta.data.text.files import STANDARD_STREAM, open_output, withdrawn
from tta.errors import InputError
from tta.scoring.combining.scored_lists import combine, mix

# What a curve's suffix takes to be written.
CURVE_FORMATS = {".png": ("matplotlib",), ".svg": ("matplotlib",), ".tsv": ()}
REPORT_PACKAGES = ("jinja2", "matplotlib")


def check_outputs(config):
    """Finds what keeps the outputs from being written, as far as that is in the config.

    Args:
        config: a `RerankConfig`.

    Raises:
        InputError: the curve has no dev lists or another suffix, or a package is missing.
    """
    if config.curve_file is not None:
        suffix = Path(config.curve_file).suffix
        if suffix not in CURVE_FORMATS:
            rule = f"expected a name that ends in {', '.join(CURVE_FORMATS)}"
            raise InputError(rule, config.curve_file)
        if config.dev_nbest_file is None:
            raise InputError("the curve is measured on dev lists, and there are none")
        _check_packages(CURVE_FORMATS[suffix], f"--curve_file={config.curve_file}")
    if config.report is not None:
        _check_packages(REPORT_PACKAGES, "--report")


def _check_packages(names, flag):
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"{flag} needs {' and '.join(missing)}: pip install 'tta-lm[report]'")


def open_outputs(stack, config, format):
    """Opens every output now, so that a long scoring does not end at a file that exists.

    Args:
        stack: `contextlib.ExitStack`; the files appear when it ends well.
        config: a `RerankConfig`.
        format: the N-best format, a key of `FORMATS`.

    Returns:
        {`nbest`, `costs`, `scores`, `curve`, `report`: stream} of what the config asks for; the
        curve's is binary.

    Raises:
        InputError: two outputs have one name, or one cannot be written.
    """
    paths = {
        "nbest": config.output_file,
        "scores": config.scores_file,
        "curve": config.curve_file,
        "report": config.report,
    }
    paths = {name: path for name, path in paths.items() if path is not None}
    keeps_costs_apart = "score_file" in FORMATS[format].takes
    if paths.get("nbest", STANDARD_STREAM) != STANDARD_STREAM and keeps_costs_apart:
        paths["costs"] = f"{config.output_file}.scores"
    seen = set()
    for path in paths.values():
        real = os.path.realpath(path)
        if real in seen:
            raise InputError("two outputs have one name", path)
        seen.add(real)
    outputs = {
        name: stack.enter_context(open_output(path, config.overwrite, binary=name == "curve"))
        for name, path in paths.items()
    }
    if "costs" in paths:
        stack.enter_context(withdrawn(paths["nbest"]))
    return outputs


def write_lists(outputs, nbest, models, mixture):
    """Writes the reranked lists, best first, with the combined score in the score's place.

    Args:
        outputs: the streams `nbest` and, where the format has it, `costs`.
        nbest: the `NBestFile` that was reranked.
        models: K `ScoredLists` of its lists.
        mixture: `MixtureWeights`.
    """
    reranked = [
        replace(
            one, hypotheses=tuple(replace(one.hypotheses[j], score=float(scores[j])) for j in order)
        )
        for _, one, order, scores in _best_first(nbest.lists, models, mixture)
    ]
    write_nbest(outputs["nbest"], reranked, nbest.format)
    if "costs" in outputs:
        FORMATS[nbest.format].write_scores(reranked, outputs["costs"])


def write_scores(stream, nbest, names, models, mixture):
    """Writes every hypothesis's scores as JSON lines, in the order of `write_lists`.

    Args:
        stream: a text stream.
        nbest, models, mixture: as in `write_lists`.
        names: what the K models are called.
    """
    for row in score_rows(nbest.lists, names, models, mixture):
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def score_rows(lists, names, models, mixture):
    """Yields every hypothesis's scores (dict), a list's best first.

    Args:
        lists: `NBestList`s.
        names, models, mixture: as in `write_scores`.
    """
    reduction = mixture.weights.reduction
    mixed = mix(models, mixture.shares).lm[reduction]
    for i, one, order, scores in _best_first(lists, models, mixture):
        for j in order:
            row = {
                "id": one.utterance_id,
                "text": one.hypotheses[j].text,
                "first_pass_score": one.hypotheses[j].score,
                "lm_score": float(mixed[i, j]),
            }
            if len(models) == 1:
                row["num_tokens"] = int(models[0].num_tokens[i, j])
            row["combined"] = float(scores[j])
            if len(models) > 1:
                row["models"] = {
                    name: {
                        "lm_score": float(model.lm[reduction][i, j]),
                        "num_tokens": int(model.num_tokens[i, j]),
                    }
                    for name, model in zip(names, models, strict=True)
                }
            yield row


def _best_first(lists, models, mixture):
    """Yields each list's number, the list, the order of its hypotheses and combined scores."""
    combined = combine(mix(models, mixture.shares), mixture.weights)
    for i, one in enumerate(lists):
        scores = combined[i, : len(one.hypotheses)]
        yield i, one, np.argsort(-scores, kind="stable"), scores
