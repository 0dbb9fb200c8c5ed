"""Reranks a file of N-best lists: read, score every text once, tune, report, write."""

import contextlib
import gc
import io
import itertools
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

import tta
from tta.data.nbest.files import NBestFile, read_nbest
from tta.data.text.files import shown_path
from tta.errors import InputError
from tta.scoring.combining.mixture import split_lm_weights
from tta.scoring.combining.scored_lists import (
    ScoredLists,
    check_widths,
    count_statistics,
    score_by_rank,
)
from tta.scoring.combining.systems import choose_systems
from tta.scoring.metrics import significance
from tta.scoring.metrics.bleu import Bleu
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.reports import page as html_report
from tta.scoring.reports import table as rerank_report
from tta.scoring.reports import weight_curve
from tta.scoring.reranking.outputs import check_outputs, open_outputs, write_lists, write_scores


@dataclass(frozen=True)
class RerankConfig:
    """What to rerank, by what, and where it goes: run_rerank.py's flags, see `flags/rerank.py`.

    `lm_weight` is one number a model, or None.
    """

    nbest_file: str
    dev_nbest_file: str | None = None
    reference_file: str | None = None
    dev_reference_file: str | None = None
    format: str | None = None
    score_file: str | None = None
    dev_score_file: str | None = None
    beam_size: int | None = None
    rank_scores: bool = False
    lm_weight: list | None = None
    length_bonus: float | None = None
    reduction: str | None = None
    metric: str = "auto"
    bleu_tokenize: str = "13a"
    output_file: str | None = None
    scores_file: str | None = None
    curve_file: str | None = None
    report: str | None = None
    overwrite: bool = False


def rerank_files(config, models=(None,), **load_options):
    """Reranks a file of N-best lists and writes what the config asks for.

    Everything that can be wrong with the files is found before a model is loaded, and outputs
    appear only when all of them are complete. Models are loaded, used and released one by one.

    Args:
        config: a `RerankConfig`.
        models: what `tta.load` takes of each model; None is the built-in one.
        **load_options: what else `tta.load` takes.

    Returns:
        A `rerank_report.Report`; as `str`, it is the report to print.

    Raises:
        InputError: a file is missing, malformed or exists already, references are missing where
            they are needed, a value or a package is wrong or missing, or a language model gave a
            score that is not finite.
    """
    split_lm_weights(config.lm_weight, len(models))
    check_outputs(config)
    test = _Part.read(config, config.nbest_file, config.reference_file, config.score_file)
    dev = None
    if config.dev_nbest_file is not None:
        files = config.dev_nbest_file, config.dev_reference_file, config.dev_score_file
        dev = _Part.read(config, *files)
    if config.curve_file is not None and not test.has_scores:
        raise InputError("has no first-pass scores to weigh: there is no curve", test.path)
    parts = [part for part in (dev, test) if part is not None]
    metric = _choose_metric(config, dev, test)
    for part in parts:
        part.measure(metric)

    with contextlib.ExitStack() as stack:
        outputs = open_outputs(stack, config, test.nbest.format)
        first, names, model_signatures = _score_by_each(models, load_options, parts)
        tuned = test if dev is None else dev
        alone, reranked = choose_systems(
            names,
            tuned.models,
            None if dev is None else dev.statistics,
            metric,
            config.lm_weight,
            config.length_bonus,
            config.reduction,
        )
        *_, final = reranked.values()
        for part in parts:
            part.evaluate(metric, alone, reranked)
        notes = list(_notes(config, dev, test, final.weights))
        signatures = [significance.SIGNATURE, metric.signature] if metric else []
        signatures += rerank_report.signatures(model_signatures, final)

        if "nbest" in outputs:
            write_lists(outputs, test.nbest, test.models, final)
        if "scores" in outputs:
            write_scores(outputs["scores"], test.nbest, names, test.models, final)
        if "curve" in outputs:
            _write_curves(outputs["curve"], Path(config.curve_file).suffix, dev, metric, reranked)
        if "report" in outputs:
            curve = io.BytesIO()
            if dev is not None and dev.has_scores:
                _write_curves(curve, ".svg", dev, metric, reranked)
            page = html_report.Page(test, final, metric, notes, signatures, curve.getvalue())
            html_report.write_report(outputs["report"], page, colours=first)

    dev_report = None if dev is None else dev.report()
    return rerank_report.Report(test.report(), dev_report, names, metric, notes, signatures)


@dataclass
class _Part:
    """The lists of one file, dev or test, and what becomes known of them on the way."""

    path: str
    nbest: NBestFile
    statistics: np.ndarray | None = None
    models: list = field(default_factory=list)  # `ScoredLists`, one a model
    evaluation: rerank_report.Evaluation | None = None

    @classmethod
    def read(cls, config, path, reference_file, score_file):
        nbest = read_nbest(path, config.format, reference_file, score_file, config.beam_size)
        part = cls(shown_path(path), nbest)
        try:
            check_widths(nbest.lists)
        except InputError as error:
            raise InputError(error.rule, part.path) from None
        if config.rank_scores:
            if part.has_scores:
                raise InputError("has scores: rank_scores is for lists without", part.path)
            part.nbest = replace(nbest, lists=[score_by_rank(one) for one in nbest.lists])
        return part

    @property
    def has_references(self):
        return self.nbest.lists[0].reference is not None

    @property
    def has_scores(self):
        return self.nbest.lists[0].hypotheses[0].score is not None

    @property
    def texts(self):
        return [h.text for one in self.nbest.lists for h in one.hypotheses]

    def measure(self, metric):
        if metric is None or not self.has_references:
            return
        self.statistics = count_statistics(self.nbest.lists, metric)
        try:
            metric.corpus(self.statistics[:, 0].sum(axis=0))  # fails now, not after the scoring
        except InputError as error:
            raise InputError(error.rule, self.path) from None

    def evaluate(self, metric, alone, reranked):
        if self.statistics is not None:
            compared = reranked if len(self.models) > 1 else ()
            self.evaluation = rerank_report.evaluate(
                self.models, self.statistics, metric, alone | reranked, compared
            )

    def report(self):
        texts = self.texts
        return rerank_report.PartReport(
            self.path, len(self.nbest.lists), len(texts), len(set(texts)), self.evaluation
        )


def _choose_metric(config, dev, test):
    """The metric that the config names or the format suggests; None where nothing is measured."""
    if dev is not None:
        if config.metric == "none":
            raise InputError("metric none: dev lists are for tuning, and that needs a metric")
        if not dev.has_references:
            raise InputError("has no references: there is nothing to tune on", dev.path)
        if dev.has_scores != test.has_scores:
            raise InputError(
                "one of dev and test lists has first-pass scores, the other has none: what is "
                "tuned on one kind says nothing about the other",
                dev.path,
            )
    elif config.metric in ("wer", "bleu") and not test.has_references:
        raise InputError(f"has no references: there is no {config.metric}", test.path)
    elif config.metric == "none" or not test.has_references:
        return None
    if config.metric == "bleu" or (config.metric == "auto" and test.nbest.format == "moses"):
        return Bleu(config.bleu_tokenize)
    return WordErrorRate()


def _score_by_each(models, load_options, parts):
    """Scores every distinct text of all parts with one model after the other.

    A model is released before the next is loaded. The first one is loaded last, so that it is at
    hand for the colours of --report.

    Returns:
        (the first model, the models' names, their signatures); the parts have their `ScoredLists`.
    """
    texts = list(dict.fromkeys(text for part in parts for text in part.texts))
    lm, names, signatures = None, [], []
    for model in reversed(models):
        lm = None
        gc.collect()  # a compiled function and its model refer to each other
        lm = tta.load(model, **load_options)
        sums, counts = lm.score_with_counts(texts, progress=sys.stderr.isatty())
        pairs = zip(sums.tolist(), counts.tolist(), strict=True)
        scores = dict(zip(texts, pairs, strict=True))
        for part in parts:
            part.models.insert(0, ScoredLists.build(part.nbest.lists, scores))
        names.insert(0, lm.name)
        signatures.insert(0, lm.signature)
    return lm, _distinct(names), signatures


def _distinct(names):
    """Names in which none occurs twice: the second `lm` is `lm (2)`."""
    distinct = []
    for name in names:
        tries = (name if i == 1 else f"{name} ({i})" for i in itertools.count(1))
        distinct.append(next(one for one in tries if one not in distinct))
    return distinct


def _write_curves(stream, format, dev, metric, systems):
    lines = weight_curve.curves(dev.models, dev.statistics, metric, systems)
    first_pass = weight_curve.first_pass_value(dev.models, dev.statistics, metric)
    weight_curve.write_curves(stream, format, lines, metric, first_pass)


def _notes(config, dev, test, weights):
    """What a reader of the numbers has to know."""
    if config.rank_scores:
        yield "first-pass scores are -ln(rank), from the lists' own order"
    if not test.has_scores:
        yield (
            "no first-pass scores: reranked by the language model alone; "
            "the first pass is the lists' own order"
        )
    free = [
        name for name in ("lm_weight", "length_bonus", "reduction") if getattr(config, name) is None
    ]
    if dev is None and free:
        yield f"{', '.join(free)} not tuned but guessed from the scores' scale (--dev_nbest_file)"
        if len(test.models) > 1 and "lm_weight" in free:
            yield "the models' scores got equal shares after scaling: each varies as widely"
    elif "lm_weight" in free and weights.lm_weight == 0 == weights.length_bonus:
        yield "no weights did better than the first pass on the dev lists: its order is kept"
    if not test.has_references:
        yield "no references: nothing measured"
    unscored = np.any([lists.present & (lists.num_tokens == 0) for lists in test.models], axis=0)
    if unscored.any():
        yield (
            f"hypotheses without a token to score, such as empty ones: {unscored.sum():,}; "
            "each got the lowest language model score of its list"
        )
