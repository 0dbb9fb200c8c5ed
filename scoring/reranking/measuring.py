"""Measures what reranking gives, where lists have references, and makes the report."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tta.data.nbest.files import NBestFile
from tta.data.nbest.notes import blank_notes, bleu_notes
from tta.doors import option_named
from tta.errors import InputError
from tta.scoring.combining.decision import select
from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.systems import (
    FIRST_LEVEL,
    MODEL_ALONE,
    WITH_PHRASES,
    WITHOUT_MODEL,
    Systems,
)
from tta.scoring.combining.weights import FIRST_PASS
from tta.scoring.metrics import significance
from tta.scoring.metrics.folding import folding_notes
from tta.scoring.metrics.metric import Metric, with_basic
from tta.scoring.notes import Note, NoteKind, in_order
from tta.scoring.reports.evaluation import Change, describe_best, evaluate, find_changes
from tta.scoring.reports.table import PartReport, Report
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.overlap import lists_among_dev, overlap_notes, without_references
from tta.scoring.reranking.reading import ListsRead
from tta.scoring.reranking.reranked import Outcome
from tta.scoring.reranking.weighing import free_weights
from tta.scoring.words.judge import JudgedWords


@dataclass(frozen=True)
class Measurement:
    """What was measured of an outcome.

    Attributes:
        report: the rows of all lists, notes and signatures.
        changes: the picks that changed, the largest change first.
    """

    report: Report
    changes: list[Change]


def measure(
    config: RerankConfig,
    outcome: Outcome,
    test: ListsRead,
    words: JudgedWords | None = None,
    output_notes: Sequence[Note] = (),
) -> Measurement:
    """Measures an outcome and makes its report.

    Args:
        config: says what is measured.
        outcome: the result of reranking.
        test: the test lists as they were read.
        words: how sure the words of the picks are, if that is asked for.
        output_notes: on what the output files lack.
    """
    scored, knowledge = outcome.scored, outcome.knowledge
    dev = scored.problem.dev
    dev_systems = _systems(outcome)
    systems = dev_systems
    lists_of_systems: dict[str, ScoredLists] = {}
    if knowledge.phrases is not None:
        reranked = {**systems.reranked, WITH_PHRASES: knowledge.weights}
        systems = replace(systems, reranked=reranked)
        lists_of_systems[WITH_PHRASES] = knowledge.part.lists
    # The lists without candidates, but statistics that have them: phrases may pick one.
    measured_test = replace(scored.problem.test, statistics=knowledge.part.statistics)
    decision, among_dev = outcome.decision, lists_among_dev(scored.problem)
    if config.leave_out_dev:
        measured_test = without_references(measured_test, among_dev)
        decided = without_references(knowledge.part, among_dev)
        decision = replace(decision, lists=decided.lists)
    test_report = _measure_part(measured_test, systems, lists_of_systems)
    if words is not None:
        fitted_on = dev.path if dev is not None and config.confidence_weights is None else None
        test_report = replace(test_report, expected=words.confidences.describe(fitted_on))
    dev_report = None if dev is None else _measure_part(dev, dev_systems, {})
    changes = find_changes(decision, knowledge.part.statistics)
    notes = [
        *overlap_notes(scored.problem, among_dev, config.leave_out_dev),
        *outcome.notes,
        *_result_notes(test_report, measured_test, list(dev_systems.reranked)[-1]),
        *_model_alone_notes(dev_report, outcome),
        *_metric_notes(config, scored.problem.test, test.file),
        *_normalization_notes(config, scored.problem.test),
        *_reference_notes(scored.problem.test),
        *(() if words is None else words.notes),
        *output_notes,
    ]
    report = Report(
        test=test_report,
        dev=dev_report,
        names=scored.names,
        metric=outcome.metric if _is_measured(config, outcome) else None,
        example=describe_best(changes, decision),
        notes=list(map(str, in_order(notes))),
        signatures=_signatures(config, outcome, words),
    )
    return Measurement(report, changes)


def _is_measured(config: RerankConfig, outcome: Outcome) -> bool:
    """Whether a metric is wanted, and the first lists have references."""
    return config.metric != "none" and outcome.scored.problem.parts[0].has_references


def _systems(outcome: Outcome) -> Systems:
    """The ways of reranking without phrases; only those that rerank if nothing is measured."""
    choice, problem = outcome.chosen.choice, outcome.scored.problem
    reranked = outcome.chosen.reranked
    if all(part.statistics is None for part in problem.parts):
        return Systems({}, reranked)
    return Systems(choice.alone(), reranked, choice.variants())


def _measure_part(
    part: Part, systems: Systems, lists_of_systems: Mapping[str, ScoredLists]
) -> PartReport:
    """Measures all ways of reranking on a part, if it has references.

    `lists_of_systems` has the lists of systems that have more hypotheses or features than the part.
    """
    texts, evaluation = part.texts, None
    if part.statistics is not None:
        alone = [name for name in (FIRST_LEVEL, WITHOUT_MODEL) if name in systems.alone]
        evaluation = evaluate(
            part.lists,
            part.statistics,
            {**systems.alone, **systems.reranked},
            compared=[*systems.reranked, *alone],
            beside=[MODEL_ALONE] if MODEL_ALONE in systems.alone else [],
            variants=systems.variants,
            lists_of_systems=lists_of_systems,
        )
    return PartReport(
        path=str(part.path),
        num_lists=len(part.nbest),
        num_hypotheses=len(texts),
        num_distinct=len(set(texts)),
        evaluation=evaluation,
    )


def _signatures(config: RerankConfig, outcome: Outcome, words: JudgedWords | None) -> list[str]:
    """Everything that the numbers of the report depend on."""
    lines = []
    if _is_measured(config, outcome):
        lines += [significance.SIGNATURE, outcome.metric.signature]
    lines += outcome.signatures
    if words is not None and config.confidence is not None:
        lines.append(words.signature)
    return lines


def _result_notes(report: PartReport, test: Part, name: str) -> Iterator[Note]:
    """Yields a note if the references show that the system of that name made the lists worse."""
    if test.statistics is None:
        return
    metric = test.statistics.metric
    before, after = report.row("first pass"), report.row(name)
    if _is_better(metric, before.value, after.value):
        values = f"{metric.name} {after.value:.2f}, first pass {before.value:.2f}"
        chance = "" if after.interval[1] < 0 else "; the difference may be chance"
        yield Note(NoteKind.RESULT, f"{name} is worse than the first pass: {values}{chance}")


def _model_alone_notes(report: PartReport | None, outcome: Outcome) -> Iterator[Note]:
    """Yields a note if the model alone is better on the lists that its weight was tuned on."""
    if report is None or report.evaluation is None or len(outcome.scored.names) != 1:
        return
    if "lm_weight" not in free_weights(outcome.scored, outcome.chosen):
        return
    metric, alone, reranked = outcome.metric, report.row(MODEL_ALONE), report.row("reranked")
    if _is_better(metric, alone.value, reranked.value):
        yield Note(
            NoteKind.RESULT,
            f"{MODEL_ALONE} is better on the dev lists: {metric.name} {alone.value:.2f}, reranked "
            f"{reranked.value:.2f}; tuned weights stay near those that are guessed without dev "
            f"lists, because {report.num_lists:,} lists may mislead",
            is_warning=False,
        )


def _is_better(metric: Metric, value: float, other: float) -> bool:
    """Whether a value of the metric is better than another one, as they are printed."""
    difference = round(value - other, 2)
    return difference > 0 if metric.higher_is_better else difference < 0


def _metric_notes(config: RerankConfig, test: Part, file: NBestFile) -> Iterator[Note]:
    """Yields notes on what the metric compares: blanks between words, case and punctuation."""
    if test.statistics is None:
        return
    metric = test.statistics.metric
    texts: list[str] = []
    if several := sum(bool(nbest.more_references) for nbest in test.nbest):
        compared = f"{metric.name} compares with all of them"
        texts.append(f"several references of {several:,} lists: {compared}")
    if metric.name == "BLEU":
        texts += bleu_notes(file, config.bleu_tokenize)
    if metric.of_speech and not metric.by_character:
        texts += blank_notes(file)
    if metric.of_speech:
        texts += _case_notes(test, test.statistics)
    for text in texts:
        yield Note(NoteKind.METRIC, text)


def _normalization_notes(config: RerankConfig, test: Part) -> Iterator[Note]:
    """Yields notes on words that the normalization changes, or leaves, as it should not."""
    lists = ([*(h.text for h in nbest.hypotheses), nbest.reference or ""] for nbest in test.nbest)
    for text in folding_notes(config.normalize, lists):
        yield Note(NoteKind.METRIC, text)


def _case_notes(test: Part, statistics: ListStatistics) -> Iterator[str]:
    """Yields a note if case and punctuation make a tenth of the errors of the first pass."""
    metric, picks = statistics.metric, select(test.lists, FIRST_PASS)
    picked = [
        replace(nbest, hypotheses=nbest.hypotheses[i : i + 1])
        for nbest, i in zip(test.nbest, picks, strict=True)
    ]
    basic = ListStatistics.build(picked, with_basic(metric))
    with contextlib.suppress(InputError):  # the references are nothing but punctuation
        before, after = statistics.value(picks), basic.value(np.zeros(len(picked), int))
        if after < 0.9 * before:
            yield (
                "case and punctuation count as errors: with "
                f"{option_named('normalize', 'basic')}, the {metric.name} "
                f"of the first pass is {after:.2f}, not {before:.2f}"
            )


def _reference_notes(test: Part) -> Iterator[Note]:
    """Yields which lists could not be measured."""
    missing = sum(nbest.reference is None for nbest in test.nbest)
    if missing == len(test.nbest):
        yield Note(NoteKind.SCORES, "no references: nothing measured", is_warning=False)
    elif missing:
        yield Note(
            NoteKind.SCORES,
            f"measured on {len(test.nbest) - missing:,} of {len(test.nbest):,} lists: the others "
            "have no reference",
        )
