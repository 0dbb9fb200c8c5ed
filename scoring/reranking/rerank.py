"""Reranks files of N-best lists: what `tta rerank` does, and each stage by its name."""

from collections.abc import Sequence

from tta.atomic import Together
from tta.data.text.files import shown_path
from tta.data.text.lines import iter_lines
from tta.errors import InputError
from tta.scoring.combining.decision import decide
from tta.scoring.combining.levels import Levels
from tta.scoring.combining.problem import Problem
from tta.scoring.combining.score import Models
from tta.scoring.combining.weights import split_lm_weights
from tta.scoring.metrics.metric import METRICS, Metric, load_metric
from tta.scoring.notes import Note
from tta.scoring.phrases.phrases import Phrases
from tta.scoring.reports.table import Report
from tta.scoring.reranking.comparing import lay_out
from tta.scoring.reranking.config import RerankConfig, keeps_non_words
from tta.scoring.reranking.measuring import measure
from tta.scoring.reranking.overlap import lists_among_dev, without_references
from tta.scoring.reranking.reading import RerankInput, read_files
from tta.scoring.reranking.reranked import Outcome
from tta.scoring.reranking.reranker import Reranker
from tta.scoring.reranking.writing.outputs import (
    check_packages,
    check_word_times,
    open_outputs,
    write_outputs,
    write_words,
)
from tta.scoring.scorers.options import RERANK_DEFAULTS, RerankOptions
from tta.scoring.words.confidence import fit_on
from tta.scoring.words.judge import JudgedWords


def rerank_files(
    config: RerankConfig,
    models: Sequence[str | Levels | None] = (None,),
    options: RerankOptions = RERANK_DEFAULTS,
) -> Report:
    """Reranks a file of N-best lists and writes the outputs that the config names.

    The files are checked before a model is loaded, and outputs appear only when all of them are
    complete. Models are loaded, used and released one after the other.

    Args:
        config: the files, the weights that are fixed, and the outputs.
        models: first arguments of `tta.load` (None is the built-in model). In place of one model,
            `Levels` of two.
        options: the other arguments of `tta.load`.

    Raises:
        InputError: a file is missing, malformed or exists already, needed references or a needed
            package are missing, a value is wrong, or a model's score is not finite.
    """
    models = config.with_levels(models)
    split_lm_weights(config.lm_weight, len(models))  # checks their number
    check_packages(config)
    lists = read_files(config)
    problem = lay_out(lists, config.rank_scores)
    _check_outputs(config, lists, problem, has_models=bool(models))
    reranker = make_reranker(config, Models(tuple(models), options), lists.test.file.format)
    with Together() as stack:
        outputs = open_outputs(stack, config, lists.test.file)
        outcome = reranker.run(lists, problem)  # compares, scores, weighs, adds phrases, decides
        words = judge_picks(config, outcome)
        output_notes: list[Note] = []
        if words is not None:  # first, because its notes are in the report
            output_notes = write_words(outputs, config, lists.test.file, outcome.decision, words)
        measurement = measure(config, outcome, lists.test, words, output_notes)
        write_outputs(
            outputs,
            config,
            file=lists.test.file,
            outcome=outcome,
            measurement=measurement,
            words=words,
        )
    return measurement.report


def make_reranker(config: RerankConfig, models: Models, format: str) -> Reranker:
    """The reranker of a config, for lists of a format, which may choose the metric.

    Raises InputError if a phrase or a weight is wrong.
    """
    metric = _load_metric(config, format)
    phrases = None
    if config.phrases_file is not None:
        phrases = Phrases(
            iter_lines(config.phrases_file),
            metric,
            shown_path(config.phrases_file),
            keeps_non_words(config),
        )
    return Reranker(
        models,
        weights=config.fixed_weights(),
        metric=metric,
        rank_scores=config.rank_scores,
        phrases=phrases,
        phrases_weight=config.phrases_weight,
        phrases_candidates=config.phrases_candidates is not None,
        measured=config.metric != "none",
        progress=True,
    )


def judge_picks(config: RerankConfig, outcome: Outcome) -> JudgedWords | None:
    """How sure the words of the picks are; None if neither a file nor the report shows it.

    The weights are given, or fitted on the picks of the dev lists without phrases, or the default
    ones.
    """
    if config.confidence is None and config.report is None:
        return None
    weights, dev = config.given_confidence_weights(), outcome.scored.problem.dev
    if weights is None and dev is not None:
        weights = fit_on(decide(dev.lists, outcome.chosen.weights), outcome.metric, outcome.lm)
    return outcome.judge_words(weights)


def _load_metric(config: RerankConfig, format: str) -> Metric:
    """The metric that is configured or fits the format. Its loss decides, too."""
    name = config.metric
    if name not in METRICS:
        name = "bleu" if format in ("moses", "fairseq") else "wer"
    return load_metric(name, config.bleu_tokenize, config.normalize)


def _check_outputs(
    config: RerankConfig, lists: RerankInput, problem: Problem, has_models: bool
) -> None:
    """Raises InputError if the config asks for an output that the lists cannot give."""
    test = problem.test
    if config.leave_out_dev:
        without_references(test, lists_among_dev(problem))  # fails before the scoring
    if config.curve_file is not None and not has_models:
        raise InputError("curve_file needs a model: it shows the weight of the language model")
    if config.curve_file is not None and not test.has_scores:
        raise InputError("a curve needs first-pass scores, and the lists have none", test.path)
    check_word_times(config, lists.test.file)
