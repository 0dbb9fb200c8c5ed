"""Reranks a file of N-best lists: read, score every text once, tune, decide, report, write."""

import contextlib
import gc
import io
import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import tta
from tta.data.nbest.files import NBestFile, read_nbest
from tta.data.nbest.lists import shown
from tta.data.text.files import shown_path
from tta.errors import InputError, located
from tta.scoring.combining.decision import decide, select
from tta.scoring.combining.risk import PairwiseLosses, metric_of_losses
from tta.scoring.combining.scored_lists import (
    RANK,
    ModelScores,
    ScoredLists,
    check_widths,
    common_features,
    score_by_rank,
    score_texts,
)
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.systems import choose_systems
from tta.scoring.combining.weights import FIRST_PASS, RerankWeights, split_lm_weights
from tta.scoring.metrics import significance
from tta.scoring.metrics.metric import METRICS, Metric, load_metric
from tta.scoring.reports.evaluation import evaluate
from tta.scoring.reports.page import write_page
from tta.scoring.reports.table import PartReport, Report, signatures
from tta.scoring.reports.weight_curve import measure_curve, write_curve
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.outputs import check_packages, open_outputs, write_lists, write_scores
from tta.scoring.scorers.options import RerankOptions
from tta.scoring.scorers.scorer import Scorer


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
    test = _Part.read(config, config.nbest_file, config.reference_file, config.score_file)
    dev_files = config.dev_nbest_file, config.dev_reference_file, config.dev_score_file
    dev = None if config.dev_nbest_file is None else _Part.read(config, *dev_files)
    if config.curve_file is not None and not models:
        raise InputError("curve_file needs a model: it shows the weight of the language model")
    if config.curve_file is not None and not test.has_scores:
        raise InputError("a curve needs first-pass scores, and the lists have none", test.path)
    metric = _choose_metric(config, dev, test)
    parts = [part for part in (dev, test) if part is not None]
    for part in parts:
        part.measure(metric)
    given = config.given_weights(_common_features(parts))
    loss = _loss(config, parts, metric or _metric(config, test))

    with contextlib.ExitStack() as stack:
        outputs = open_outputs(stack, config, test.file.format)
        for part in parts:
            part.lay_out(loss)
        first, names, model_signatures = _score_by_each(models, load_options, parts)
        tuned_on = (test.lists, None) if dev is None else (dev.lists, dev.statistics)
        systems = choose_systems(names, *tuned_on, given, config.lm_weight)
        decision = decide(test.lists, systems.final)
        made_by = [significance.SIGNATURE, metric.signature] if metric else []
        measured = test.report(systems)
        report = Report(
            measured,
            None if dev is None else dev.report(systems),
            names,
            metric,
            [
                *_worse(measured, metric, list(systems.reranked)[-1]),
                *_conventions(test),
                *_notes(config, dev, test, systems.final),
            ],
            made_by + signatures(model_signatures, systems.final, loss),
        )

        if "nbest" in outputs:
            write_lists(outputs["nbest"], decision)
        if "scores" in outputs:
            write_scores(outputs["scores"], decision, names)
        curve = None
        wanted = models and {"curve", "report"} & outputs.keys()
        if wanted and dev and dev.statistics and dev.has_scores:
            curve = measure_curve(dev.lists, dev.statistics, systems.reranked)
        if config.curve_file is not None and curve is not None:
            write_curve(outputs["curve"], Path(config.curve_file).suffix, curve)
        if "report" in outputs:
            svg = io.BytesIO()
            if curve is not None:
                write_curve(svg, ".svg", curve)
            stream, picture = outputs["report"], svg.getvalue()
            colours = first if first and first.gives_log_probabilities else None
            write_page(stream, report, decision, test.statistics, picture, colours)
    return report


@dataclass
class _Part:
    """One file of lists, dev or test. The later fields are filled in step by step."""

    path: str
    file: NBestFile
    ranked: bool = False  # whether the scores are the ranks
    statistics: ListStatistics | None = None  # None if nothing is measured
    lists: ScoredLists = field(init=False)

    @classmethod
    def read(cls, config, path, reference_file, score_file):
        file = read_nbest(path, config.format, reference_file, score_file, config.beam_size)
        part = cls(str(shown_path(path)), file)
        with located(path=part.path):
            check_widths(file.lists)
        part.ranked = config.rank_scores and not part.has_scores
        if part.ranked:
            part.file = replace(file, lists=[score_by_rank(one) for one in file.lists])
        return part

    def lay_out(self, loss):
        """Makes arrays of the lists, without the models' scores. `loss` is a metric or None."""
        with located(path=self.path):
            losses = None if loss is None else PairwiseLosses.build(self.file.lists, loss)
        self.lists = ScoredLists.build(self.file.lists, losses=losses)

    @property
    def has_references(self):
        return self.file.lists[0].reference is not None

    @property
    def has_scores(self):
        first = next(h for one in self.file.lists for h in one.hypotheses)
        return first.score is not None

    @property
    def texts(self):
        return [h.text for one in self.file.lists for h in one.hypotheses]

    def measure(self, metric):
        if metric is None or not self.has_references:
            return
        self.statistics = ListStatistics.build(self.file.lists, metric)
        with located(path=self.path):  # fails now, not after the scoring
            self.statistics.value(np.zeros(len(self.file.lists), int))

    def report(self, systems):
        texts, evaluation = self.texts, None
        if self.statistics is not None:
            rows = systems.alone | systems.reranked
            evaluation = evaluate(self.lists, self.statistics, rows, compared=systems.reranked)
        return PartReport(self.path, len(self.file.lists), len(texts), len(set(texts)), evaluation)


def _choose_metric(config: RerankConfig, dev: _Part | None, test: _Part) -> Metric | None:
    """The metric that is configured or fits the format; None if nothing is measured."""
    if dev is not None:
        if not dev.has_references:
            raise InputError("tuning needs references, and the lists have none", dev.path)
        if (dev.has_scores, dev.ranked) != (test.has_scores, test.ranked):
            raise InputError(
                "either both dev and test lists must have first-pass scores or none of them: "
                "weights tuned on one kind do not fit the other",
                dev.path,
            )
    elif not test.has_references:
        return None
    return None if config.metric == "none" else _metric(config, test)


def _loss(config: RerankConfig, parts: Sequence[_Part], metric: Metric) -> Metric | None:
    """The metric whose loss the decision mbr needs; None if only the decision is `max`."""
    decision = "mbr" if config.scale is not None else config.decision  # a scale implies mbr
    return metric_of_losses(metric, decision, *(part.file.lists for part in parts))


def _metric(config: RerankConfig, test: _Part) -> Metric:
    """The metric that is configured or fits the format. Its loss decides, too."""
    name = config.metric
    if name not in METRICS:
        name = "bleu" if test.file.format in ("moses", "fairseq") else "wer"
    return load_metric(name, config.bleu_tokenize, config.normalize)


def _common_features(parts: Sequence[_Part]) -> set[str]:
    """The names of the features that every hypothesis of all parts has."""
    return set.intersection(*(common_features(part.file.lists) for part in parts))


def _score_by_each(
    models: Sequence[str | None], load_options: dict[str, Any], parts: Sequence[_Part]
) -> tuple[Scorer | None, list[str], list[str]]:
    """Scores every distinct text of all parts with one model after the other.

    A model is released before the next one is loaded. The first model is loaded last, because the
    page needs it for the colours. Returns this model, or None without models, and the names and
    signatures of all models. The scores are put into `lists` of each part.
    """
    texts = [text for part in parts for text in part.texts]
    model_scores: list[list[ModelScores]] = [[] for _ in parts]
    lm: Any = None
    names, signatures = [], []
    for model in reversed(models):
        if lm is not None:
            lm = None
            gc.collect()  # a compiled function and its model refer to each other
        lm = tta.load(model, **RerankOptions().for_load() | load_options)
        token_scores = score_texts(lm, texts, progress=sys.stderr.isatty())
        for part, scores in zip(parts, model_scores, strict=True):
            scores.insert(0, ModelScores.build(part.file.lists, token_scores))
        names.insert(0, lm.name)
        signatures.insert(0, lm.signature)
    for part, scores in zip(parts, model_scores, strict=True):
        part.lists = replace(part.lists, models=tuple(scores))
    return lm, _distinct(names), signatures


def _distinct(names: Sequence[str]) -> list[str]:
    """Makes names distinct: the second `lm` becomes `lm (2)`."""
    distinct = []
    for name in names:
        tries = (name if i == 1 else f"{name} ({i})" for i in itertools.count(1))
        distinct.append(next(one for one in tries if one not in distinct))
    return distinct


def _notes(
    config: RerankConfig, dev: _Part | None, test: _Part, weights: RerankWeights
) -> Iterator[str]:
    """Yields what a reader of the numbers must know."""
    if test.ranked:
        yield (
            "no first-pass scores: -ln(place in the list) is used, because lists are usually "
            "ordered best first (--norank_scores)"
        )
    elif not test.has_scores and not test.lists.models:
        yield "no first-pass scores and no model: nothing says which hypotheses are probable"
    elif not test.has_scores:
        yield "no first-pass scores: reranked by the language model alone"
    elif not test.lists.has_scores and weights.lm_weight == 1:
        yield "the first-pass scores of a list are all equal: reranked by the language model alone"
    elif dev is not None and test.lists.has_scores and not dev.lists.has_scores:
        yield (
            "the dev lists' first-pass scores are all equal within each list: those of the test "
            "lists are not used"
        )
    if dev is not None and dev.file.lists == test.file.lists:
        yield (
            "the dev lists equal the test lists: the gain is overestimated, because the weights "
            "were tuned on them"
        )
    for part in filter(None, (dev, test)):
        empty = [one.utterance_id for one in part.file.lists if not one.hypotheses]
        if empty:
            yield (
                f"lists without hypotheses in {part.path}: {len(empty):,}, "
                f"first {shown(empty[0])}; they stay empty, and are measured as an empty hypothesis"
            )
    weight_names = "lm_weight", "length_bonus", "reduction", "scale"
    free = [name for name in weight_names if getattr(config, name) is None]
    models = test.lists.models
    if not models:
        free = [name for name in free if name not in ("lm_weight", "reduction")]
    if weights.decision == "max":
        free = [name for name in free if name != "scale"]
    if dev is None and free:
        if config.decision is None and config.scale is None:
            free.append("decision")
        names = ", ".join(free)
        yield f"guessed from the scale of the scores, as there is no --dev_nbest_file: {names}"
        if len(models) > 1 and "lm_weight" in free:
            yield "the models' scores got equal shares after scaling: each varies as widely"
    elif (
        dev is not None
        and free
        and weights == replace(FIRST_PASS, reduction=weights.reduction, shares=weights.shares)
    ):
        yield "no weights did reliably better than the first pass on the dev lists: it is kept"
    unused = sorted(test.lists.features.keys() - weights.features.keys() - {RANK})
    if dev is None and config.features is None and unused:
        yield f"features not used, because nothing is tuned: {', '.join(unused)}"
    if config.decision is None and test.lists.losses is None:
        yield "the decision mbr was not tried: the pairs of hypotheses do not fit into memory"
    if not test.has_references:
        yield "no references: nothing measured"
    unscored = test.lists.present & np.any([one.num_tokens == 0 for one in models], axis=0)
    if unscored.any():
        yield (
            f"hypotheses without a token to score, such as empty ones: {unscored.sum():,}; "
            "each got the lowest language model score of its list"
        )


def _conventions(test: _Part) -> Iterator[str]:
    """Yields a note if case and punctuation make up a tenth of the first pass's WER."""
    if test.statistics is None or test.statistics.metric.name != "WER":
        return
    picks = select(test.lists, FIRST_PASS)
    picked = [
        replace(one, hypotheses=one.hypotheses[i : i + 1])
        for one, i in zip(test.file.lists, picks, strict=True)
    ]
    basic = ListStatistics.build(picked, load_metric("wer", normalize="basic"))
    with contextlib.suppress(InputError):  # the references are nothing but punctuation
        before, after = test.statistics.value(picks), basic.value(np.zeros(len(picked), int))
        if after < 0.9 * before:
            yield (
                "case and punctuation count as errors: with --normalize=basic, the WER of the "
                f"first pass is {after:.2f}, not {before:.2f}"
            )


def _worse(test: PartReport, metric: Metric | None, name: str) -> Iterator[str]:
    """Yields a note if the references show that the system of that name made the lists worse."""
    if test.evaluation is None or metric is None:
        return
    before, after = test.row("first pass"), test.row(name)
    change = round(after.value - before.value, 2)  # as printed
    if change < 0 if metric.higher_is_better else change > 0:
        values = f"{metric.name} {after.value:.2f}, first pass {before.value:.2f}"
        chance = "" if after.interval[1] < 0 else "; the difference may be chance"
        yield f"{name} is worse than the first pass: {values}{chance}"
