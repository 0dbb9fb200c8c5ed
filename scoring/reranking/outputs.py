"""The output files of reranking: opened before anything slow, written when everything is known."""

import importlib.util
import itertools
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from tta.data.nbest.files import write_nbest
from tta.data.nbest.formats import load_format
from tta.data.text.files import STANDARD_STREAM, open_output, withdrawn
from tta.errors import InputError
from tta.scoring.combining.decision import Decision
from tta.scoring.reranking.config import CURVE_FORMATS, RerankConfig

REPORT_PACKAGES = ("jinja2", "matplotlib")


def check_packages(config: RerankConfig) -> None:
    """Raises InputError if a package that an output needs is missing."""
    needed = {} if config.report is None else {"--report": REPORT_PACKAGES}
    if config.curve_file is not None:
        needed[f"--curve_file={config.curve_file}"] = CURVE_FORMATS[Path(config.curve_file).suffix]
    for flag, packages in needed.items():
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        if missing:
            raise InputError(f"{flag} needs {' and '.join(missing)}: pip install 'tta-lm[report]'")


def open_outputs(stack: ExitStack, config: RerankConfig, format: str) -> dict[str, Any]:
    """Opens all outputs, so that an existing file is an error before the scoring.

    The files appear under their names when `stack` is closed without an exception. `format` is the
    N-best format, a key of `FORMATS`.

    Returns:
        The stream of each output in the config: `nbest`, `costs`, `scores`, `curve`, `report`. That
        of the curve is binary.

    Raises:
        InputError: two outputs have the same name, or an output cannot be written.
    """
    paths = {
        "nbest": config.output_file,
        "scores": config.scores_file,
        "curve": config.curve_file,
        "report": config.report,
    }
    paths = {name: path for name, path in paths.items() if path is not None}
    has_score_file = "score_file" in load_format(format).takes
    if has_score_file and paths.get("nbest", STANDARD_STREAM) != STANDARD_STREAM:
        paths["costs"] = f"{config.output_file}.scores"
    for one, other in itertools.combinations(paths.values(), 2):
        if os.path.realpath(one) == os.path.realpath(other):
            raise InputError("two outputs have the same name", other)
    outputs = {
        name: stack.enter_context(open_output(path, config.overwrite, binary=name == "curve"))
        for name, path in paths.items()
    }
    if "costs" in paths:
        stack.enter_context(withdrawn(paths["nbest"]))
    return outputs


def write_lists(outputs: Mapping[str, TextIO], decision: Decision, format: str) -> None:
    """Writes the reranked lists, best first, with the combined score as the score.

    The streams are `nbest` and, if the format (a key of `FORMATS`) has a score file, `costs`.
    """
    reranked = []
    for i, one in enumerate(decision.lists.nbest):
        hypotheses = [
            replace(one.hypotheses[j], score=float(decision.combined[i, j]))
            for j in decision.ranking(i)
        ]
        reranked.append(replace(one, hypotheses=tuple(hypotheses)))
    write_nbest(outputs["nbest"], reranked, format)
    if "costs" in outputs:
        load_format(format).write_scores(reranked, outputs["costs"])


def write_scores(stream: TextIO, decision: Decision, names: Sequence[str]) -> None:
    """Writes `score_rows` as JSON lines."""
    for row in score_rows(decision, names):
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def score_rows(decision: Decision, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields the scores of every hypothesis, list by list, best first; `names` are the models'."""
    models = decision.lists.models
    for i, one in enumerate(decision.lists.nbest):
        for j in decision.ranking(i):
            row = {
                "id": one.utterance_id,
                "text": one.hypotheses[j].text,
                "first_pass_score": one.hypotheses[j].score,
                "lm_score": float(decision.lm_scores[i, j]),
            }
            if len(models) == 1:
                row["num_tokens"] = int(models[0].num_tokens[i, j])
            row["combined"] = float(decision.combined[i, j])
            if len(models) > 1:
                row["models"] = {
                    name: {
                        "lm_score": float(model.reduced[decision.weights.reduction][i, j]),
                        "num_tokens": int(model.num_tokens[i, j]),
                    }
                    for name, model in zip(names, models, strict=True)
                }
            yield row
