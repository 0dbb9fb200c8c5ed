"""Reranks a file of N-best lists: read, score every text once, tune, decide, report, write."""

import io
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tta
from tta.atomic import Together
from tta.data.nbest.files import NBestFile, read_nbest
from tta.data.text.files import shown_path
from tta.data.text.lines import iter_lines
from tta.errors import InputError
from tta.scoring.combining.confidence import (
    Confidences,
    ConfidenceWeights,
    confidence_notes,
    confidences_of,
    default_weights,
    fit_on,
)
from tta.scoring.combining.decision import Decision, decide, select
from tta.scoring.combining.levels import Levels
from tta.scoring.combining.part import Part, score_by_each
from tta.scoring.combining.phrases import Phrases, phrase_notes, weigh
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.systems import (
    FIRST_LEVEL,
    WITH_PHRASES,
    WITHOUT_MODEL,
    Systems,
    choose_systems,
)
from tta.scoring.combining.weights import PHRASES, RerankWeights, split_lm_weights
from tta.scoring.combining.word_evidence import find_evidence
from tta.scoring.metrics import significance
from tta.scoring.metrics.metric import METRICS, Metric, load_metric
from tta.scoring.metrics.risk import needs_losses
from tta.scoring.reports.evaluation import Change, describe_best, evaluate, find_changes
from tta.scoring.reports.page import write_page
from tta.scoring.reports.table import PartReport, Report, signatures
from tta.scoring.reports.weight_curve import measure_curve, write_curve
from tta.scoring.reranking.best_texts import write_best
from tta.scoring.reranking.candidates import with_candidates
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
from tta.scoring.scorers.options import RerankOptions, options_of
from tta.scoring.scorers.scorer import Scorer, unknown_note


def rerank_files(
    config: RerankConfig, models: Sequence[str | Levels | None] = (None,), **load_options
) -> Report:
    """Reranks a file of N-best lists and writes the outputs that the config names.

    The files are checked before a model is loaded, and outputs appear only when all of them are
    complete. Models are loaded, used and released one after the other. Each of `models` is a first
    argument of `tta.load` (None is the built-in model). `load_options` are its other arguments; the
    defaults are those of `RerankOptions`. In place of one model, `Levels` of two. Raises InputError
    if a file is missing, malformed or exists already, needed references or a needed package are
    missing, a value is wrong, or a model's score is not finite.
    """
    models = config.levels(models)
    split_lm_weights(config.lm_weight, len(models))
    check_packages(config)
    test, test_file = _read(config, config.nbest_file, config.reference_file, config.score_file)
    parts, files = [test], [test_file]
    if config.dev_nbest_file is not None:
        dev_files = config.dev_nbest_file, config.dev_reference_file, config.dev_score_file
        dev, dev_file = _read(config, *dev_files, is_dev=True)
        parts, files = [dev, test], [dev_file, test_file]
    _check(config, parts, models)
    check_word_times(config, test_file)
    given_confidence = config.given_confidence_weights()
    if given_confidence is not None:
        given_confidence = ConfidenceWeights.of(given_confidence)
    metric, phrases, weighed = _metric(config, test_file.format), None, None
    if config.phrases_file is not None:
        given = iter_lines(config.phrases_file), metric, shown_path(config.phrases_file)
        phrases = Phrases(*given, keeps_non_words(config))
    measured = metric if config.metric != "none" and parts[0].has_references else None
    decision = "mbr" if config.scale is not None else config.decision  # a scale implies mbr
    losses = needs_losses(decision, *(part.nbest for part in parts))
    levels = [name for one in models if isinstance(one, Levels) for name in one.models]
    options = RerankOptions().for_load() | load_options
    loaded, unknown = [], []  # the models' names and signatures; notes on unknown words
    texts = list(dict.fromkeys(text for part in parts for text in part.texts))
    lists = [[h.text for h in one.hypotheses] for part in parts for one in part.nbest]

    def load(model: Any) -> Scorer:
        lm = tta.load(model, **options_of(model, levels, options))
        loaded.insert(0, (lm.name, lm.signature))
        firsts = [one[0] for one in lists if one]
        counts = lm.count_unknown(texts)
        found = *unread_notes(lm, lists, texts, counts), *language_notes(lm, firsts)
        unknown[:0] = *found, *unknown_note(lm, texts, counts)
        return lm

    def again(model: Any) -> Scorer:
        known = first if len(loaded) == 1 else None
        return known or tta.load(model, **options_of(model, levels, options))

    with Together() as stack:
        outputs = open_outputs(stack, config, test_file)
        parts = [part.compared(metric, config.metric != "none", losses) for part in parts]
        features = set.intersection(*(set(one.lists.features) for one in parts))
        given = config.given_weights(features - ({PHRASES} if phrases else set()))
        for name, part in itertools.product(given.features, parts):
            part.lists.feature(name)  # fails if not every hypothesis has it
        parts, first = score_by_each(parts, models, load, given, len(parts) > 1, progress=True)
        *devs, test = parts
        dev = devs[0] if devs else None
        names = _distinct([name for name, _ in loaded])[: len(models)]  # the second's, of levels
        tuned_on = (test.lists, None) if dev is None else (dev.lists, dev.statistics)
        systems = choose_systems(names, *tuned_on, given, config.lm_weight)
        dev_reports = [_report(one, systems) for one in devs]
        judged, plain, own = test, systems, {}
        if phrases is not None:
            phrases.leave_out((first or Scorer()).is_common)
            weighed = weigh(test.lists, phrases, plain.final, config.phrases_weight)
            if config.phrases_candidates is not None:
                judged = with_candidates(test, phrases)
                judged = judged.compared(metric, config.metric != "none", losses)
                rescored = test.lists.rescored
                again_given = replace(given, first_level=rescored and rescored.weights)
                (judged,), _ = score_by_each([judged], models, again, again_given, False)
                more = weigh(judged.lists, phrases, weighed.weights)
                weighed = weighed._replace(lists=more.lists)
            own[WITH_PHRASES], judged = weighed.lists, replace(judged, lists=weighed.lists)
            systems = replace(plain, reranked=plain.reranked | {WITH_PHRASES: weighed.weights})
        measures = _report(replace(test, statistics=judged.statistics), systems, own)
        decision = decide(judged.lists, systems.final)
        changes = find_changes(decision, judged.statistics)
        sure, confidence_signature, more = None, [], []
        if config.confidence is not None or config.report is not None:
            found = _confidences(decision, metric, first, given_confidence, dev, plain.final)
            sure, line, more = found
            if config.confidence is not None:
                confidence_signature = line
                file = outputs["confidence"], config.confidence, test_file.format
                more = [*more, *write_confidence(*file, decision, sure)]
            fitted = dev if given_confidence is None else None
            measures = replace(measures, expected=sure.describe(fitted and fitted.path))
        made_by = [significance.SIGNATURE, measured.signature] if measured else []
        report = Report(
            measures,
            dev_reports[0] if dev_reports else None,
            names,
            measured,
            describe_best(changes, judged.nbest),
            notes=[
                *phrase_notes(weighed, phrases, select(test.lists, plain.final)),
                *find_notes(config, files, dev, test, plain, measures),
                *more,
                *unknown,
            ],
            signatures=[
                *made_by,
                *_signatures([one for _, one in loaded], test, plain, metric),
                *([f"phrases_weight:{weighed.weight:.6g}"] if weighed else []),
                *confidence_signature,
            ],
        )
        given = config, outputs, test_file.format, report, dev, plain, first, decision, changes
        _write(*given, sure, phrases)
    return report


def _read(
    config: RerankConfig,
    path: str,
    reference_file: Sequence[str] | str | None,
    score_file: Sequence[str] | str | None,
    is_dev: bool = False,
) -> tuple[Part, NBestFile]:
    """Reads a file of lists. Nothing is tuned on dev lists without a reference."""
    given = config.beam_size, config.scores, keeps_non_words(config), config.partial_references
    file = read_nbest(path, config.format, reference_file, score_file, *given)
    if is_dev:
        kept = [one for one in file.lists if one.reference is not None]
        file = replace(file, lists=kept or file.lists)
    return Part.build(file.lists, str(shown_path(path)), config.rank_scores), file


def _check(config: RerankConfig, parts: Sequence[Part], models: Sequence[Any]) -> None:
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


def _signatures(loaded: Sequence[str], test: Part, systems: Systems, metric: Metric) -> list[str]:
    """The signatures of the models and of the decision; of two levels, those of both."""
    before, rescored = [], test.lists.rescored
    if rescored is not None:
        loaded, first = loaded[:1], loaded[1:]
        before = [*signatures(first, rescored.weights, metric), rescored.rule]
    return [*before, *signatures(loaded, systems.final, metric)]


def _report(
    part: Part, systems: Systems, own: Mapping[str, ScoredLists] | None = None
) -> PartReport:
    """Measures all ways of reranking on a part, if it has references; `own` as in `evaluate`."""
    texts, evaluation = part.texts, None
    if part.statistics is not None:
        rows = systems.alone | systems.reranked
        others = [one for one in (FIRST_LEVEL, WITHOUT_MODEL) if one in systems.alone]
        compared = [*systems.reranked, *others]
        evaluation = evaluate(part.lists, part.statistics, rows, compared, systems.variants, own)
    return PartReport(str(part.path), len(part.nbest), len(texts), len(set(texts)), evaluation)


def _confidences(
    decision: Decision,
    metric: Metric,
    lm: Scorer | None,
    given: ConfidenceWeights | None,
    dev: Part | None,
    plain: RerankWeights,
) -> tuple[Confidences, list[str], list[str]]:
    """The confidences of the picks, their signature and their notes.

    The weights are given, or fitted on the picks of the dev lists without phrases, or the default
    ones.
    """
    evidence = find_evidence(decision, metric, lm)
    weights = given
    if given is None and dev is not None:
        weights = fit_on(decide(dev.lists, plain), metric, lm)
    used = weights or default_weights(evidence.has_model)
    line = ",".join(f"{name}={weight:.6g}" for name, weight in used.items())
    notes = confidence_notes(decision, evidence.has_model, weights is None)
    return confidences_of(evidence, used), [f"confidence_weights:{line}"], list(notes)


def _write(
    config: RerankConfig,
    outputs: Mapping[str, Any],
    format: str,
    report: Report,
    dev: Part | None,
    systems: Systems,
    first: Scorer | None,
    decision: Decision,
    changes: Sequence[Change],
    sure: Confidences | None,
    phrases: Phrases | None,
) -> None:
    """Writes the outputs that are open. `first` is the first model, which colours the page."""
    if "nbest" in outputs:
        write_lists(outputs["nbest"], decision, config.phrases_candidates == "written")
    if config.best_file is not None:
        write_best(outputs["best"], config.best_file, format, decision)
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
        more = svg.getvalue(), colours, sure, phrases
        write_page(outputs["report"], report, decision, changes, *more)
