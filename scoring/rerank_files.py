"""Reranks a file of N-best lists: read, score every text once, tune, report, write."""

import contextlib
import functools
import json
import os
import sys
from dataclasses import dataclass, replace

import numpy as np

import tta
from tta.data.files import STANDARD_STREAM, open_output, shown_path
from tta.data.nbest import FORMATS, NBestFile, read_nbest, write_nbest
from tta.errors import InputError
from tta.scoring import rerank_report
from tta.scoring.bleu import Bleu
from tta.scoring.error_rate import WordErrorRate
from tta.scoring.reranking import ScoredLists, combine, count_statistics
from tta.scoring.tuning import guess, tune


@dataclass(frozen=True)
class RerankConfig:
    """What to rerank, by what, and where it goes: run_rerank.py's flags, see `flags/rerank.py`."""

    nbest_file: str
    dev_nbest_file: str | None = None
    reference_file: str | None = None
    dev_reference_file: str | None = None
    format: str | None = None
    score_file: str | None = None
    dev_score_file: str | None = None
    beam_size: int | None = None
    lm_weight: float | None = None
    length_bonus: float | None = None
    reduction: str | None = None
    metric: str = "auto"
    bleu_tokenize: str = "13a"
    output_file: str | None = None
    scores_file: str | None = None
    overwrite: bool = False


def rerank_files(config, model=None, **load_options):
    """Reranks a file of N-best lists and writes what the config asks for.

    Everything that can be wrong with the files is found before the model is loaded, and outputs
    appear only when all of them are complete.

    Args:
        config: a `RerankConfig`.
        model: a model directory, or None for the built-in one.
        **load_options: what else `tta.load` takes.

    Returns:
        The report, as text.

    Raises:
        InputError: a file is missing, malformed or exists already, references are missing where
            they are needed, or the language model gave a score that is not finite.
    """
    test = _Part.read(config, config.nbest_file, config.reference_file, config.score_file)
    dev = None
    if config.dev_nbest_file is not None:
        files = config.dev_nbest_file, config.dev_reference_file, config.dev_score_file
        dev = _Part.read(config, *files)
    parts = [part for part in (dev, test) if part is not None]
    metric = _choose_metric(config, dev, test)
    for part in parts:
        part.measure(metric)

    with contextlib.ExitStack() as stack:
        outputs = _open_outputs(stack, config, test.nbest.format)
        lm = tta.load(model, **load_options)
        token_scores = _score_once(lm, parts)
        for part in parts:
            part.lists = ScoredLists.build(part.nbest.lists, token_scores)
        weights, lm_alone = _choose_weights(config, metric, dev, test)
        if "nbest" in outputs:
            _write_nbest(outputs, test, weights)
        if "scores" in outputs:
            _write_scores(outputs["scores"], test, weights)

    report = [text for part in parts for text in part.report(metric, weights, lm_alone)]
    report += [f"note: {note}" for note in _notes(config, dev, test, weights)]
    report += [metric.signature] if metric else []
    report += [rerank_report.signature(lm, weights)]
    return "\n".join(report)


@dataclass
class _Part:
    """The lists of one file, dev or test, and what becomes known of them on the way."""

    path: str
    nbest: NBestFile
    statistics: np.ndarray | None = None
    lists: ScoredLists | None = None

    @classmethod
    def read(cls, config, path, reference_file, score_file):
        nbest = read_nbest(path, config.format, reference_file, score_file, config.beam_size)
        return cls(shown_path(path), nbest)

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

    def report(self, metric, weights, lm_alone):
        texts = self.texts
        yield (
            f"{self.path}: {len(self.nbest.lists):,} lists, {len(texts):,} hypotheses, "
            f"{len(set(texts)):,} distinct"
        )
        if self.statistics is not None:
            rows = rerank_report.evaluate(self.lists, self.statistics, metric, weights, lm_alone)
            yield rerank_report.format_table(rows, metric) + "\n"


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


def _open_outputs(stack, config, format):
    """Opens every output now, so that a long scoring does not end at a file that exists."""
    paths = {}
    if config.output_file is not None:
        paths["nbest"] = config.output_file
        if "score_file" in FORMATS[format].takes and config.output_file != STANDARD_STREAM:
            paths["costs"] = f"{config.output_file}.scores"
    if config.scores_file is not None:
        paths["scores"] = config.scores_file
    real = [os.path.realpath(path) for path in paths.values()]
    if len(set(real)) < len(real):
        raise InputError("two outputs have one name", config.scores_file)
    return {
        name: stack.enter_context(open_output(path, config.overwrite))
        for name, path in paths.items()
    }


def _score_once(lm, parts):
    """Scores every distinct text of all parts: {text: (sum, number of tokens)}."""
    texts = list(dict.fromkeys(text for part in parts for text in part.texts))
    sums, counts = lm.score_with_counts(texts, progress=sys.stderr.isatty())
    return dict(zip(texts, zip(sums.tolist(), counts.tolist(), strict=True), strict=True))


def _choose_weights(config, metric, dev, test):
    """The weights to rerank with, and those of the language model alone."""
    given = {"length_bonus": config.length_bonus, "reduction": config.reduction}
    if dev is None:
        choose = functools.partial(guess, test.lists)
    else:
        choose = functools.partial(tune, dev.lists, dev.statistics, metric)
    # Weight 1 has another scale of scores, so a bonus given for the interpolation is not for it.
    return (
        choose(lm_weight=config.lm_weight, **given),
        choose(lm_weight=1.0, reduction=config.reduction),
    )


def _notes(config, dev, test, weights):
    """What a reader of the numbers has to know."""
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
    elif "lm_weight" in free and weights.lm_weight == 0 == weights.length_bonus:
        yield "no weights did better than the first pass on the dev lists: its order is kept"
    if not test.has_references:
        yield "no references: nothing measured"
    unscored = int((test.lists.present & (test.lists.num_tokens == 0)).sum())
    if unscored:
        yield (
            f"hypotheses without a token to score, such as empty ones: {unscored:,}; "
            "each got the lowest language model score of its list"
        )


def _best_first(test, weights):
    """Yields each list with its arrays' row, the order of its hypotheses and combined scores."""
    combined = combine(test.lists, weights)
    for i, one in enumerate(test.nbest.lists):
        scores = combined[i, : len(one.hypotheses)]
        yield i, one, np.argsort(-scores, kind="stable"), scores


def _write_nbest(outputs, test, weights):
    reranked = [
        replace(
            one, hypotheses=tuple(replace(one.hypotheses[j], score=float(scores[j])) for j in order)
        )
        for _, one, order, scores in _best_first(test, weights)
    ]
    write_nbest(outputs["nbest"], reranked, test.nbest.format)
    if "costs" in outputs:
        FORMATS[test.nbest.format].write_scores(reranked, outputs["costs"])


def _write_scores(stream, test, weights):
    lm_scores = test.lists.lm[weights.reduction]
    for i, one, order, scores in _best_first(test, weights):
        for j in order:
            row = {
                "id": one.utterance_id,
                "text": one.hypotheses[j].text,
                "first_pass_score": one.hypotheses[j].score,
                "lm_score": float(lm_scores[i, j]),
                "num_tokens": int(test.lists.num_tokens[i, j]),
                "combined": float(scores[j]),
            }
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
