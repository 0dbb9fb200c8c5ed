"""The output files of reranking: opened before anything slow, written when everything is known."""

import importlib.util
import itertools
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from tta.data.nbest.files import NBestFile, open_nbest_output
from tta.data.nbest.formats import load_format
from tta.data.nbest.lists import NBestList
from tta.data.text.files import STANDARD_STREAM, open_output, shown_path
from tta.data.text.tables import delimiter_of, row_writer
from tta.errors import InputError, install
from tta.scoring.combining.decision import Decision
from tta.scoring.notes import Note, NoteKind
from tta.scoring.phrases.phrases import CANDIDATE, candidate_of
from tta.scoring.reports.page import write_page
from tta.scoring.reports.weight_curve import WeightCurve, draw_svg, measure_curve, write_curve
from tta.scoring.reranking.config import CURVE_FORMATS, RerankConfig
from tta.scoring.reranking.measuring import Measurement
from tta.scoring.reranking.reranked import Outcome
from tta.scoring.reranking.writing.best_texts import check_ids, write_best
from tta.scoring.reranking.writing.ctm import check_times, write_ctm
from tta.scoring.words.confidence import Confidences
from tta.scoring.words.judge import JudgedWords

CTM = ".ctm"
REPORT_PACKAGES = ("jinja2", "matplotlib")


def check_packages(config: RerankConfig) -> None:
    """Raises InputError if a package that an output needs is missing."""
    needed = {} if config.report is None else {"--report": REPORT_PACKAGES}
    if config.curve_file is not None:
        needed[f"--curve_file={config.curve_file}"] = CURVE_FORMATS[Path(config.curve_file).suffix]
    for flag, packages in needed.items():
        missing = [name for name in packages if importlib.util.find_spec(name) is None]
        if missing:
            raise InputError(f"{flag} needs {' and '.join(missing)}: {install('report')}")


def open_outputs(stack: ExitStack, config: RerankConfig, file: NBestFile) -> dict[str, Any]:
    """Opens all outputs, so that an existing file is an error before the scoring.

    The files appear under their names when `stack` is closed without an exception. `file` is
    the lists that were read.

    Returns:
        The stream of each output in the config: `best`, `scores`, `confidence`, `curve`, `report`.
        That of the curve is binary. `nbest` is the function of `open_nbest_output` that writes the
        lists.

    Raises:
        InputError: two outputs have the same name, or an output cannot be written.
    """
    paths = {
        "nbest": config.output_file,
        "best": config.best_file,
        "scores": config.scores_file,
        "confidence": config.confidence,
        "curve": config.curve_file,
        "report": config.report,
    }
    paths = {name: path for name, path in paths.items() if path is not None}
    names = list(paths.values())
    has_score_file = "score_file" in load_format(file.format).takes
    if has_score_file and paths.get("nbest", STANDARD_STREAM) != STANDARD_STREAM:
        names.append(f"{config.output_file}.scores")
    for first, second in itertools.combinations(names, 2):
        if os.path.realpath(first) == os.path.realpath(second):
            raise InputError("two outputs have the same name", second)
    if config.best_file is not None:
        check_ids(config.best_file, file.lists)
    outputs: dict[str, Any] = {}
    for name, path in paths.items():
        if name == "nbest":
            output = open_nbest_output(
                path, file.format, config.overwrite, scores=config.scores, names=file.names
            )
        else:
            output = open_output(path, config.overwrite, binary=name == "curve")
        outputs[name] = stack.enter_context(output)
    return outputs


def write_lists(
    write: Callable[[Sequence[NBestList]], None], decision: Decision, candidates: bool = False
) -> None:
    """Writes the reranked lists, best first; `candidates` of phrases only if they are asked for.

    The score is the combined score, or, for the decision `mbr`, minus the expected loss: the
    highest score is the first in either case.

    `write` is the function of `tta.data.nbest.files.open_nbest_output`.
    """
    reranked = []
    for i, nbest_list in enumerate(decision.lists.nbest):
        hypotheses = [
            replace(nbest_list.hypotheses[j], score=float(decision.goodness[i, j]))
            for j in decision.ranking(i)
            if candidates or not candidate_of(nbest_list.hypotheses[j])
        ]
        reranked.append(replace(nbest_list, hypotheses=tuple(hypotheses)))
    write(reranked)


def write_scores(stream: TextIO, decision: Decision, names: Sequence[str]) -> None:
    """Writes `score_rows` as JSON lines."""
    for row in score_rows(decision, names):
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def check_word_times(config: RerankConfig, file: NBestFile) -> None:
    """Raises InputError if a CTM is asked for and a hypothesis has no times of its words."""
    if config.confidence is not None and config.confidence.endswith(CTM):
        check_times(load_format(file.format), file.lists, str(shown_path(config.nbest_file)))


def write_words(
    outputs: Mapping[str, Any],
    config: RerankConfig,
    file: NBestFile,
    decision: Decision,
    words: JudgedWords,
) -> list[Note]:
    """Writes the confidences of words, if the config names a file, and notes what it lacks.

    They are JSON lines, a table, or NIST's CTM, by the ending of the file's name.
    """
    path, confidences = config.confidence, words.confidences
    if path is None:
        return []
    stream = outputs["confidence"]
    if path.endswith(CTM):
        texts = write_ctm(stream, load_format(file.format), decision, confidences)
        return [Note(NoteKind.OUTPUT, text) for text in texts]
    if delimiter_of(path):
        _write_word_table(row_writer(stream, path), decision, confidences)
        return []
    for nbest, of_list in zip(decision.lists.nbest, confidences.words, strict=True):
        row = {"id": nbest.utterance_id, "words": [word.to_dict() for word in of_list]}
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return []


def _write_word_table(
    write_row: Callable[[Mapping[str, Any]], object], decision: Decision, confidences: Confidences
) -> None:
    """Writes a row for each word."""
    for nbest, of_list in zip(decision.lists.nbest, confidences.words, strict=True):
        for number, word in enumerate(of_list, 1):
            cells = word.to_dict()
            if word.rival is None:  # a rival "" is no word, and has a probability
                cells["rival_probability"] = None
            write_row({"id": nbest.utterance_id, "word_number": number} | cells)


def write_outputs(
    outputs: Mapping[str, Any],
    config: RerankConfig,
    file: NBestFile,
    outcome: Outcome,
    measurement: Measurement,
    words: JudgedWords | None,
) -> None:
    """Writes all open outputs but the confidences (`write_words`)."""
    decision, report = outcome.decision, measurement.report
    if "nbest" in outputs:
        write_lists(outputs["nbest"], decision, config.phrases_candidates == "written")
    if config.best_file is not None:
        write_best(outputs["best"], config.best_file, file.format, decision)
    if "scores" in outputs:
        write_scores(outputs["scores"], decision, report.names)
    curve = _measure_curve(outputs, outcome)
    if config.curve_file is not None and curve is not None:
        write_curve(outputs["curve"], Path(config.curve_file).suffix, curve)
    if "report" in outputs:
        lm, phrases = outcome.lm, outcome.knowledge.phrases
        write_page(
            outputs["report"],
            report,
            decision,
            measurement.changes,
            curve=None if curve is None else draw_svg(curve),
            colours=lm if lm is not None and lm.gives_log_probabilities else None,
            confidences=None if words is None else words.confidences,
            phrases=None if phrases is None else phrases.phrases,
        )


def _measure_curve(outputs: Mapping[str, Any], outcome: Outcome) -> WeightCurve | None:
    """The curve of the dev lists; None if no output shows it, or there is none."""
    dev = outcome.scored.problem.dev
    if not (outcome.scored.models and {"curve", "report"} & outputs.keys()):
        return None
    if dev is None or dev.statistics is None or not dev.has_scores:
        return None
    return measure_curve(dev.lists, dev.statistics, outcome.chosen.reranked)


def score_rows(decision: Decision, names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yields the scores of every hypothesis, list by list, best first; `names` are the models'.

    `terms` has what each column adds to `combined`, by the column's name; fields of a field have
    its name and a dot before their own.
    """
    models, terms = decision.lists.models, decision.terms(names)
    for i, nbest_list in enumerate(decision.lists.nbest):
        for j in decision.ranking(i):
            row = {
                "id": nbest_list.utterance_id,
                "text": nbest_list.hypotheses[j].text,
                "first_pass_score": nbest_list.hypotheses[j].score,
            }
            if phrase := candidate_of(nbest_list.hypotheses[j]):
                row[CANDIDATE] = phrase
            if models:
                row["lm_score"] = float(decision.lm_scores[i, j])
            if len(models) == 1:
                row["num_tokens"] = int(models[0].num_tokens[i, j])
            if (rescored := decision.lists.rescored) is not None:
                first = rescored.first.reduced[rescored.weights.reduction]
                row["estimated"] = not rescored.scored[i, j]
                row["first_lm_score"] = float(first[i, j])
            row["num_words"] = int(decision.lists.num_words[i, j])
            features = decision.weights.features
            if features:
                row["features"] = {
                    name: float(decision.lists.feature(name)[i, j]) for name in features
                }
            row["terms"] = {name: float(values[i, j]) for name, values in terms.items()}
            row["combined"] = float(decision.combined[i, j])
            if decision.expected_losses is not None:
                row["posterior"] = float(decision.posteriors[i, j])
                row["expected_loss"] = float(decision.expected_losses[i, j])
            if len(models) > 1:
                row["models"] = {
                    name: {
                        "lm_score": float(model.reduced[decision.weights.reduction][i, j]),
                        "num_tokens": int(model.num_tokens[i, j]),
                    }
                    for name, model in zip(names, models, strict=True)
                }
            yield row
