"""Reranks a file of N-best lists: read, score every text once, tune, decide, report, write."""

import contextlib
import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tta
from tta.data.nbest.files import NBestFile, read_nbest
from tta.data.text.files import shown_path
from tta.errors import InputError
from tta.scoring.combining.confidence import (
    Confidences,
    ConfidenceWeights,
    confidence_notes,
    confidences_of,
    default_weights,
    fit_on,
)
from tta.scoring.combining.decision import Decision, decide
from tta.scoring.combining.part import Part, score_by_each
from tta.scoring.combining.risk import needs_losses
from tta.scoring.combining.systems import WITHOUT_MODEL, Systems, choose_systems
from tta.scoring.combining.weights import split_lm_weights
from tta.scoring.combining.word_evidence import find_evidence
from tta.scoring.metrics import significance
from tta.scoring.metrics.metric import METRICS, Metric, load_metric
from tta.scoring.reports.evaluation import Change, describe_first, evaluate, find_changes
from tta.scoring.reports.page import write_page
from tta.scoring.reports.table import PartReport, Report, signatures
from tta.scoring.reports.weight_curve import measure_curve, write_curve
from tta.scoring.reranking.config import RerankConfig, keeps_non_words
from tta.scoring.reranking.notes import find_notes
from tta.scoring.reranking.outputs import (
    check_packages,
    check_word_times,
    open_outputs,
    write_confidence,
    write_lists,
    write_scores,
)
from tta.scoring.scorers.inference.reading import language_notes, unread_notes
from tta.scoring.scorers.options import RerankOptions
from tta.scoring.scorers.scorer import Scorer, unknown_note


def rerank_files(
    config: RerankConfig, models: Sequence[str | None] = (None,), **load_options
) -> Report:
    """Reranks a file of N-best lists and writes the outputs that the config names.

    The files are checked before a model is loaded, and outputs appear only when all of them are
    complete. Models are loaded, used and released one after the other. Each of `models` is a
    first argument of `tta.load` (None is the built-in model). `load_options` are its other
    arguments; the defaults are those of `RerankOptions`.

    Raises:
        InputError: a file is missing, malformed or exists already, needed references or a needed
            package are missing, a value is wrong, or a model's score is not finite.
    """
    split_lm_weights(config.lm_weight, len(models))
    check_packages(config)
    test, test_file = _read(config, config.nbest_file, config.reference_file, config.score_file)
    parts, files = [test], [test_file]
    if config.dev_nbest_file is not None:
        dev_files = config.dev_nbest_file, config.dev_reference_file, config.dev_score_file
        dev, dev_file = _read(config, *dev_files)
        parts, files = [dev, test], [dev_file, test_file]
    _check(config, parts, models)
    check_word_times(config, test_file)
    given_confidence = config.given_confidence_weights()
    if given_confidence is not None:
        given_confidence = ConfidenceWeights.of(given_confidence)
    metric = _metric(config, test_file.format)
    measured = metric if config.metric != "none" and parts[0].has_references else None
    decision = "mbr" if config.scale is not None else config.decision  # a scale implies mbr
    losses = needs_losses(decision, *(part.nbest for part in parts))
    loaded, unknown = [], []  # the models' names and signatures; notes on unknown words
    texts = list(dict.fromkeys(text for part in parts for text in part.texts))
    lists = [[h.text for h in one.hypotheses] for part in parts for one in part.nbest]

    def load(model: str | None) -> Scorer:
        lm = tta.load(model, **RerankOptions().for_load() | load_options)
        loaded.insert(0, (lm.name, lm.signature))
        firsts = [one[0] for one in lists if one]
        found = *unread_notes(lm, lists), *language_notes(lm, firsts), *unknown_note(lm, texts)
        unknown[:0] = found
        return lm

    with contextlib.ExitStack() as stack:
        outputs = open_outputs(stack, config, test_file)
        parts = [part.compared(metric, config.metric != "none", losses) for part in parts]
        given = config.given_weights(set.intersection(*(set(one.lists.features) for one in parts)))
        for name, part in itertools.product(given.features, parts):
            part.lists.feature(name)  # fails if not every hypothesis has it
        parts, first = score_by_each(parts, models, load, progress=True)
        *devs, test = parts
        dev = devs[0] if devs else None
        names = _distinct([name for name, _ in loaded])
        tuned_on = (test.lists, None) if dev is None else (dev.lists, dev.statistics)
        systems = choose_systems(names, *tuned_on, given, config.lm_weight)
        *dev_reports, measures = (_report(part, systems) for part in parts)
        decision = decide(test.lists, systems.final)
        changes = find_changes(decision, test.statistics)
        sure, confidence_signature, more = None, [], []
        if config.confidence is not None or config.report is not None:
            found = _confidences(decision, metric, first, given_confidence, dev)
            sure, line, more = found
            if config.confidence is not None:
                confidence_signature = line
                file = outputs["confidence"], config.confidence, test_file.format
                more = [*more, *write_confidence(*file, decision, sure)]
            measures = replace(measures, expected=(sure.name, sure.expected))
        made_by = [significance.SIGNATURE, measured.signature] if measured else []
        report = Report(
            measures,
            dev_reports[0] if dev_reports else None,
            names,
            measured,
            describe_first(changes, test.nbest),
            notes=[*find_notes(config, files, dev, test, systems, measures), *more, *unknown],
            signatures=[
                *made_by,
                *signatures([one for _, one in loaded], systems.final, metric),
                *confidence_signature,
            ],
        )
        _write(config, outputs, report, dev, systems, first, decision, changes, sure)
    return report


def _read(
    config: RerankConfig, path: str, reference_file: str | None, score_file: str | None
) -> tuple[Part, NBestFile]:
    """Reads a file of lists."""
    given = config.beam_size, config.scores, keeps_non_words(config)
    file = read_nbest(path, config.format, reference_file, score_file, *given)
    return Part.build(file.lists, str(shown_path(path)), config.rank_scores), file


def _check(config: RerankConfig, parts: Sequence[Part], models: Sequence[str | None]) -> None:
    """Raises InputError if the config asks for what the lists (dev and test, or test) lack."""
    *devs, test = parts
    if config.curve_file is not None and not models:
        raise InputError("curve_file needs a model: it shows the weight of the language model")
    if config.curve_file is not None and not test.has_scores:
        raise InputError("a curve needs first-pass scores, and the lists have none", test.path)
    for dev in devs:
        if not dev.has_references:
            raise InputError("tuning needs references, and the lists have none", dev.path)
        if (dev.has_scores, dev.lists.ranked) != (test.has_scores, test.lists.ranked):
            raise InputError(
                "either both dev and test lists must have first-pass scores or none of them: "
                "weights tuned on one kind do not fit the other",
                dev.path,
            )


def _metric(config: RerankConfig, format: str) -> Metric:
    """The metric that is configured or fits the format. Its loss decides, too."""
    name = config.metric
    if name not in METRICS:
        name = "bleu" if format in ("moses", "fairseq") else "wer"
    return load_metric(name, config.bleu_tokenize, config.normalize)


def _distinct(names: Sequence[str]) -> list[str]:
    """Makes names distinct: the second `lm` becomes `lm (2)`."""
    distinct = []
    for name in names:
        tries = (name if i == 1 else f"{name} ({i})" for i in itertools.count(1))
        distinct.append(next(one for one in tries if one not in distinct))
    return distinct


def _report(part: Part, systems: Systems) -> PartReport:
    """Measures all ways of reranking on a part, if it has references."""
    texts, evaluation = part.texts, None
    if part.statistics is not None:
        rows = systems.alone | systems.reranked
        compared = [*systems.reranked, *({WITHOUT_MODEL} & systems.alone.keys())]
        evaluation = evaluate(part.lists, part.statistics, rows, compared, systems.variants)
    return PartReport(str(part.path), len(part.nbest), len(texts), len(set(texts)), evaluation)


def _confidences(
    decision: Decision,
    metric: Metric,
    lm: Scorer | None,
    given: ConfidenceWeights | None,
    dev: Part | None,
) -> tuple[Confidences, list[str], list[str]]:
    """The confidences of the picks, their signature and their notes.

    The weights are given, or fitted on the picks of the dev lists, or the default ones.
    """
    evidence = find_evidence(decision, metric, lm)
    weights = given
    if given is None and dev is not None:
        weights = fit_on(decide(dev.lists, decision.weights), metric, lm)
    used = weights or default_weights(evidence.has_model)
    line = ",".join(f"{name}={weight:.6g}" for name, weight in used.items())
    notes = confidence_notes(decision, evidence.has_model, weights is None)
    return confidences_of(evidence, used), [f"confidence_weights:{line}"], list(notes)


def _write(
    config: RerankConfig,
    outputs: Mapping[str, Any],
    report: Report,
    dev: Part | None,
    systems: Systems,
    first: Scorer | None,
    decision: Decision,
    changes: Sequence[Change],
    sure: Confidences | None,
) -> None:
    """Writes the outputs that are open. `first` is the first model, which colours the page."""
    if "nbest" in outputs:
        write_lists(outputs["nbest"], decision)
    if "scores" in outputs:
        write_scores(outputs["scores"], decision, report.names)
    curve = None
    wanted = report.names and {"curve", "report"} & outputs.keys()
    if wanted and dev and dev.statistics and dev.has_scores:
        curve = measure_curve(dev.lists, dev.statistics, systems.reranked)
    if config.curve_file is not None and curve is not None:
        write_curve(outputs["curve"], Path(config.curve_file).suffix, curve)
    if "report" in outputs:
        svg = io.BytesIO()
        if curve is not None:
            write_curve(svg, ".svg", curve)
        colours = first if first and first.gives_log_probabilities else None
        write_page(outputs["report"], report, decision, changes, svg.getvalue(), colours, sure)
